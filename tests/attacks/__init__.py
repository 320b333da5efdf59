"""Attacks on the running app: many hostile inputs, damaged files and kills, counted. Run one with `python -m`."""
