"""Fixtures of tests of computing."""

from tapes import _optimised, _own_threads, chain, random_graph

__all__ = ["_optimised", "_own_threads", "chain", "random_graph"]
