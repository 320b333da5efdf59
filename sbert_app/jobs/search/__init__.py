"""Search a corpus or a collection, judge the hits, and tell why a row is not among them."""
