"""The Search tab: load a corpus and search it."""
