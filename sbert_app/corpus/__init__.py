"""A corpus as arrays: read, index, search. Knows no model."""
