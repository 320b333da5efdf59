"""Siamese and triplet training: objectives, batches, the loop."""
