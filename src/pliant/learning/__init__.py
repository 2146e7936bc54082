"""Models inside JAX and PyTorch."""
