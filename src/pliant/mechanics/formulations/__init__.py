"""Formulations of the equations of motion, a file or two for each paper."""
