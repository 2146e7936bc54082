"""Services that every room uses: caches, checks of arguments, files read and written, progress, interrupts."""
