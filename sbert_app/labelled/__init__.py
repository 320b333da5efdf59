"""Labelled pairs and triplets: the columns' roles, the examples and their split."""
