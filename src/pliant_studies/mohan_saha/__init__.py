"""[MS07]: O(n) forward dynamics by decoupled natural orthogonal complements, and a PUMA driven by its own torques."""
