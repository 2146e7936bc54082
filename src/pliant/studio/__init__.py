"""The studio: an interactive page on which an arm is changed, driven and watched."""
