"""The Similarity tab: two sentences, or a list against a list."""
