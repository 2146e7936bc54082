"""Export to C and CUDA."""
