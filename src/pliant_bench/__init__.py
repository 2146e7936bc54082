"""pliant beside its peers: the same arm, the same motion, accuracy and time."""
