"""Simulation: single runs, batches, steppers, gradients and scenarios. Integrators, which choose step lengths, are in
`integrators`."""
