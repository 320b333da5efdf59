"""The corpus of all tabs: read, index, open, save."""
