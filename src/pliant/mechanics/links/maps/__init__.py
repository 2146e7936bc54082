"""Bodies as maps of their coordinates: beams and bodies, stiffened, turning, or with modes that follow the pose."""
