"""An arm, or many, that its caller advances step by step: in a loop with hardware, a learner, another program."""

from pliant.simulation.stepper.stepper import ArmState, SavedState, Stepper

__all__ = ["ArmState", "SavedState", "Stepper"]
