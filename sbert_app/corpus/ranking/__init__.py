"""How rows are ranked for a query: by words, by scores of several kinds fused, by the best match of each token."""
