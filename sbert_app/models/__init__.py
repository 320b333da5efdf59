"""From sentences to embeddings: pooling, batching, encoders, and where they come from. Torch stays in here."""
