"""The Timing tab: the cross-encoder against SBERT."""
