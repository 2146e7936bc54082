"""Source code for graphics processors."""
