"""`python -m pliant` is the command `pliant`."""

from pliant.cli import main

main()
