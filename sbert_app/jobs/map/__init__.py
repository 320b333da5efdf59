"""The map of a corpus: draw it, group and name, select and search on it."""
