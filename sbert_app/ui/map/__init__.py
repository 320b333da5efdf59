"""The Map tab: the corpus in two dimensions, with clusters."""
