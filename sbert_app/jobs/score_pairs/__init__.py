"""Score a file of pairs."""
