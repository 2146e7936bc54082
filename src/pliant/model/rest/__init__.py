"""Rest of an arm: static equilibrium, closed loops and cylinders at rest, stability, and the forces that act there."""
