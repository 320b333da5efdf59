"""The Evaluation tab."""
