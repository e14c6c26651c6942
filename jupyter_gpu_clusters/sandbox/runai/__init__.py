"""A simulated NVIDIA Run:ai: one control plane, its clusters, and their cluster API, below one prefix.

``service.py`` is the table of routes and what the frame asks; beside it: ``tokens.py`` (who calls), ``inventory.py``
(what exists from the start), ``fields.py``, ``storage.py`` and ``spec.py`` (the request as strict models), ``rules.py``
and ``storage_rules.py`` (between fields), ``policy.py`` and ``merge.py`` (defaults, templates, refusals with their
complianceIssues), ``submit.py`` (from a body to a workload), ``workload.py`` and ``scheduler.py`` (phases, quota,
gangs, preemption), ``placement.py`` (which node takes which pod), ``actions.py`` (what ends or changes workloads),
``views.py``, ``reading.py``, ``listing.py`` and ``metrics.py`` (what is shown of workloads), ``organization.py``,
``catalogue.py`` and ``assets.py`` (what is shown of the rest), ``choices.py`` (what the contract leaves open),
``errors.py`` (the shapes of refusals), ``logs.py`` (the cluster API), ``setup.py`` (changes from outside).

Every workload's GPUs come out of simulated nodes: all its pods start or none does, at most up to the project's limit,
and beyond its quota only when it can be preempted.
"""

from .service import Runai

__all__ = ["Runai"]
