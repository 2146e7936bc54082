"""Looking at results: figures for papers and for the screen. Matplotlib is imported when the first figure is drawn."""

from pliant.view.comparison import compare
from pliant.view.html import to_html
from pliant.view.maps import frequency_map
from pliant.view.plots import FIGURES, plot
from pliant.view.shapes import mode_shapes
from pliant.view.style import FORMATS
from pliant.view.video import to_video

__all__ = ["FIGURES", "FORMATS", "compare", "frequency_map", "mode_shapes", "plot", "to_html", "to_video"]
