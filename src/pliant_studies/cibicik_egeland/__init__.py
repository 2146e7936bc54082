"""[CE21]: a 4-DOF arm with two flexible links by dual screws, linear in elastic states, against nonlinear models."""
