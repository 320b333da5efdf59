"""The shell: `python -m sbert_app COMMAND`."""
