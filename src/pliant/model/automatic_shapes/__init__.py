"""Choice of shapes and pieces where a description says `auto`, and the vibrations that it is judged by."""
