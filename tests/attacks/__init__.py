"""Attacks on the running app, with figures. Not part of the tests: `python -m tests.attacks NAME`."""
