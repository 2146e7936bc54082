"""Bodies of links other than beams: rigid, from files, and how links look."""
