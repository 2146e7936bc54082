"""Search for rest-to-rest motions: programs, bounds, responses and their derivatives."""
