"""Bulk indexing: many files as a stream, encoded in shards that are never encoded twice, into a collection or Parquet files."""
