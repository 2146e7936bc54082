"""Checks of a run: energy balance, limits of joints, runaways, neglected terms, advice."""
