"""Siamese and triplet training: objectives, batches and the training loop."""
