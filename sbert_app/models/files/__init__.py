"""A model's files: where they are, what they say, whether they are sound."""
