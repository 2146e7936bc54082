"""Python functions of numbers, translated to machine code."""
