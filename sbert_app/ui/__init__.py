"""The Gradio page: one folder per tab, as docs/house.md says. None holds visitors' data, which is in their sessions."""
