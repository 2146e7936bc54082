"""An arm over time as numbers to be drawn: axes, sections, skins, fittings, camera."""
