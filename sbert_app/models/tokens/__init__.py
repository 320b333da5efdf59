"""A text as tokens: their vectors before pooling, their places, and the passages of long texts."""
