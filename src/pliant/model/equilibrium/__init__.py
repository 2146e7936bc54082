"""Static equilibrium of an arm, with closed loops and cylinders, its stability, steady spin, and the forces at rest."""
