"""Lium, simulated from its contract: fabrics, whole-node clusters, pods, and everything around them."""

from .service import Lium

__all__ = ["Lium"]
