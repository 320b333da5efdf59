"""Duplicates of a corpus or collection: mine them once, group them at any threshold, compare with another file."""
