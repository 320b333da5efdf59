"""One file per tab; tabs never import each other."""
