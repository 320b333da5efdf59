"""What the browser shows. Handlers are thin: read, call one service, shape the output."""
