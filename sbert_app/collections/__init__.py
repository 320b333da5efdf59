"""Collections: rows with embeddings in a store of their own, for what is too large for a corpus in memory."""
