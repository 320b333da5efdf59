"""Services: validate input, do the work of one feature, return plain values. No Gradio here."""
