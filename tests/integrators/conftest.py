"""Fixtures of tests of integrators."""

from tapes import _optimized, _own_threads, chain, random_graph

__all__ = ["_optimized", "_own_threads", "chain", "random_graph"]
