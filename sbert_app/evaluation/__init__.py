"""Figures of merit. Works on arrays."""
