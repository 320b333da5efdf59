"""The Timing tab: a race between a cross-encoder and SBERT."""
