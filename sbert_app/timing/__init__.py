"""Measure how fast systems are on this machine, fairly, and say what that means for more sentences than were measured."""
