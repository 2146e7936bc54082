"""Stepping loops, translated to machine code, and the parts of a step that they share."""
