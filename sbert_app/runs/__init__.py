"""Training runs that live on disk: planned, carried out, stopped, resumed, measured."""
