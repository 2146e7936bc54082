"""Speed, as ratios in one run. Machines are noisy: times are the smallest of many short runs, rivals alternate."""
