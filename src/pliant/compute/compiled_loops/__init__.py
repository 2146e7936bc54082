"""Python functions of numbers, translated: stepping loops of many runs."""
