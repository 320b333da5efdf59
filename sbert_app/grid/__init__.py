"""A grid of evaluations: systems in rows, data sets in columns, in each cell a figure with its interval."""
