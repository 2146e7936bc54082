"""Files of runs and tables of measurements."""
