"""This machine as a provider: the embedded default that needs no account.

Nodes are folders and process groups. The truth is one folder per cluster with its ``cluster.json``, so everything
survives the end of the kernel, the server and this package's journal.
"""

from .provider import LocalProvider

__all__ = ["LocalProvider"]
