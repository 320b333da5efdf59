"""An open collection: a store of more rows than fit in memory, with a sample of them in memory as the session's corpus."""
