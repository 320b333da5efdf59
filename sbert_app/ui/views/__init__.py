"""Results as HTML. Pure functions: values in, escaped markup out."""
