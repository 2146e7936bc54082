"""The chain built from a description: links, joints, drives, connections, damping."""
