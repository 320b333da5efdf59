"""A map of a corpus: its points, clusters, colours, and the comparison with another model."""
