"""Beams that slide out of their hubs."""
