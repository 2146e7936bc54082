"""Drives of joints: motor, gear, friction, end stops."""
