"""Siamese and triplet training on labelled pairs: examples, objectives, the loop, runs that live on disk."""
