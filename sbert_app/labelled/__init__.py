"""Labelled pairs and triplets: which column is what, the examples, and how they are split."""
