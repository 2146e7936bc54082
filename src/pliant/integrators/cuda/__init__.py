"""Many runs of one arm at once on a graphics processor: source code with the stepping loop inside, and launches."""
