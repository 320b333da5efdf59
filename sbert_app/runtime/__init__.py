"""Shared by all jobs: device, sessions, waiting lines, example corpora, the training thread, and the bundle of them."""
