"""Model predictive control: collocation with slopes, condensing, a quadratic program; compiled.

The code here uses addresses of compiled functions, never robots. It is written in the subset of
`compute.compiled_loops.translate`, so that it becomes machine code, and also runs in Python as it is.
"""
