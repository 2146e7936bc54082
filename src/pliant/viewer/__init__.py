"""Pages, movies and the three-dimensional view of runs, and the public functions of figures (`pliant.view`)."""

from typing import TYPE_CHECKING

from pliant.base.later import later

if TYPE_CHECKING:
    from pliant.drawing.style import FORMATS
    from pliant.figures.comparison import compare
    from pliant.figures.maps import frequency_map
    from pliant.figures.plots import FIGURES, plot
    from pliant.figures.shapes import mode_shapes
    from pliant.viewer.page import to_html
    from pliant.viewer.video import to_video

__getattr__ = later(
    __name__,
    {
        "FIGURES": "pliant.figures.plots",
        "FORMATS": "pliant.drawing.style",
        "compare": "pliant.figures.comparison",
        "frequency_map": "pliant.figures.maps",
        "mode_shapes": "pliant.figures.shapes",
        "plot": "pliant.figures.plots",
        "to_html": "page",
        "to_video": "video",
    },
)

__all__ = ["FIGURES", "FORMATS", "compare", "frequency_map", "mode_shapes", "plot", "to_html", "to_video"]
