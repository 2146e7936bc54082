"""The core tests on more than one machine: which they are (core.toml), and where they run (`make test-machines`)."""
