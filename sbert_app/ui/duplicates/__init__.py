"""Duplicates, a part of the Search tab: groups, what to keep, overlap with another file."""
