"""What systems have to do: one module for each kind of data set."""
