"""What is done with a corpus: load, index, search, duplicates, overlap, map."""
