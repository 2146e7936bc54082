"""The view of an arm in a browser, with a server: scene, plots beside it, and access."""
