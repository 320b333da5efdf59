"""What all jobs share: the device, the sessions, the lines, the examples, the thread that trains, and the bundle of them."""
