"""Compare two sentences, or two lists of them."""
