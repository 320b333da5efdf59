"""Training runs on disk: plan, execute, stop, resume, evaluate."""
