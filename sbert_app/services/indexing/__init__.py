"""Index a corpus: cut long texts, encode, build the index; what a draft loses; search what is encoded so far."""
