"""Optimal control over a horizon that recedes: collocation with slopes, condensing, a quadratic program; compiled.

What is here sees addresses of compiled functions, never robots. All of it is written in the words of
`kernels.translate`, so that it becomes machine code, and runs by Python as it stands.
"""
