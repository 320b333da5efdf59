"""A corpus as arrays: read, index, search. Independent of any model."""
