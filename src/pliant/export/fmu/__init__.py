"""Export to functional mock-up units."""
