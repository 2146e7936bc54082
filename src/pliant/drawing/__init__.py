"""Styles, panels and report pages for figures."""
