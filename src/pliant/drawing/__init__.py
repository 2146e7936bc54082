"""Styles, panels and report pages that figures and rooms draw with."""
