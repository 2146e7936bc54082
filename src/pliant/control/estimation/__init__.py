"""State estimation."""
