"""How a model runs on this machine: device, precision, batches, attention."""
