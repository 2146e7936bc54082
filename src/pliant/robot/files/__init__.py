"""Robot files: YAML and URDF in and out, the paths in them, and their error messages."""
