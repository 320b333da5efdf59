"""How a job is declared: its options, its inputs, its outcome, and the recipe that repeats it."""
