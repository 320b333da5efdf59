"""The job evaluate: a grid of systems and data sets, of files or of the page, filled cell by cell."""
