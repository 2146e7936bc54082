"""Cross-sections of beams: shapes, area moments, torsion."""
