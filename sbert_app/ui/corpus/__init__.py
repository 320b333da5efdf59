"""The corpus of all tabs: its menu in the header, the panel to load one, and the warning that its index is of another model."""
