"""How a job is declared: its options, its inputs and its outcome."""
