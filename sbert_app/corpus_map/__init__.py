"""A drawn map of a corpus: its points, groups, colours, and the comparison with another model."""
