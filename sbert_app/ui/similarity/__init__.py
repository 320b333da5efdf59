"""The Similarity tab: two sentences, two lists, or a file of pairs."""
