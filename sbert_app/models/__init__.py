"""Encoders and cross-encoders: finding, loading, batching, pooling."""
