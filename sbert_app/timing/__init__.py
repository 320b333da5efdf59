"""Measure how fast systems are on this machine, fairly, and extrapolate to more sentences."""
