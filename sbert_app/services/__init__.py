"""One service per tab: validated input, plain values out. No Gradio here."""
