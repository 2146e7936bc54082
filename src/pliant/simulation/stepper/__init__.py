"""The class `Stepper`: an arm, or many, that its caller advances, in a loop with hardware, a learner, another program."""

from pliant.simulation.stepper.stepper import ArmState, SavedState, Stepper

__all__ = ["ArmState", "SavedState", "Stepper"]
