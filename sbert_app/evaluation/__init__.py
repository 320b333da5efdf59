"""Metrics on arrays."""
