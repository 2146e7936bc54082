"""Models as differentiable functions of JAX and PyTorch."""
