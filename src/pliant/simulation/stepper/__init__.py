"""The class `Stepper`: an arm, or many, that its caller advances, beside hardware, a learner or another program."""

from pliant.simulation.stepper.stepper import ArmState, SavedState, Stepper

__all__ = ["ArmState", "SavedState", "Stepper"]
