"""Explain a score: which words add to it, and how unusual it is. Works on arrays."""
