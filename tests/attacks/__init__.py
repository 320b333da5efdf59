"""Attacks on the app, with figures. Not part of the tests: `python -m tests.attacks NAME …`."""
