"""Duplicates, a sub-tab of Search: groups of duplicates, rows to keep, overlap with another file."""
