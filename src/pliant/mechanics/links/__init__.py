"""Links as maps of coordinates, joined to a chain."""
