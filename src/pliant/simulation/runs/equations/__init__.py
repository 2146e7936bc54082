"""Equations of a run, from the model, controller, torques, loads and prescribed motion."""
