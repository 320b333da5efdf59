"""Open a collection, and search it."""
