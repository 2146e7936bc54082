"""The equations of the papers as printed, term by term, for comparison with their claims."""
