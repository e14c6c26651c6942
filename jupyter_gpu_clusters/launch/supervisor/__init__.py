"""Runs one workload's ranks on one node, detached, until they have ended; and answers for it afterwards.

It travels as one file (see ``shipping.py`` beside this package) to nodes that have nothing but a Python, 3.8 or
newer, and must then work by itself: standard library only, nothing else of `jupyter_gpu_clusters` is imported, and
the syntax is Python 3.8's.

::

    python supervisor.pyz start ID      start document on stdin; answers when all nodes run it, or none does
    python supervisor.pyz status        {"roots": [...], "id": null | ID} on stdin; what this machine knows
    python supervisor.pyz check         {"root": path, "interface": null | name} on stdin; GPUs, disk, clock, network
    python supervisor.pyz cancel ID     {"roots": [...], "wait_s": s, "grace_s": s} on stdin; ends it, says what is left
    python supervisor.pyz end-leftovers {"roots": [...], "grace_s": s} on stdin; ends what any workload there left
    python supervisor.pyz read-log ID   {"roots": [...], "follow": ...} on stdin; frames of output on stdout

How a start goes. ``start`` claims the folder ``ROOT/ID`` by making it, and leaves a *node* process behind, in its
own session. Node 0's process is also the *hub*: it listens on a control port that all nodes can work out from the
id, the others join it (both sides prove that they know the workload's token). When all have reported "ready", the
hub reserves the master port and says "go"; when all ranks are spawned it says "started". Any refusal on the way,
or a node that does not report in time, ends the start on all nodes. From then on every exit code goes to the hub;
the first that is not 0 ends all nodes. A lost control connection is a lost node. The hub's final word is written
by every node into its own state file.

Where to read on::

    __main__ -> check                                                      before anything starts
             -> start (login) -> node -> program, environment, rank -> rank_log    from a command to processes
                           |---> channel, gate, hub -> ports, verdict      nodes agree
                           |---> record -> state_file                      what is remembered
                           `---> sweep                                     nothing is left
             -> status, cancel -> folder, marks                            seen from outside
             -> read_log -> log_reader
    messages, processes, loop                                              used by many
"""
