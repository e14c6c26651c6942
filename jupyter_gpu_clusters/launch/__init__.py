"""Starting work where a provider gives only a machine: nodes, ranks, logs, exit codes.

The path of a command: `spec` (what the user wrote) -> `planning` (checked and frozen, pure) -> `ranks` (the
launcher) -> `control` (sub-commands) -> `hosts` (a machine) -> `supervisor` (one detached process per node,
`shipping` brings it there).
The way back: `supervisor` -> `states` (what the nodes say, merged into one workload) and `logs`.
"""
