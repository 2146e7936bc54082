"""Many runs of one arm at once: a state in each lane of a SIMD register, and the derivatives of such runs."""
