"""What makes results trustworthy: seeds, devices, and random numbers that are the same everywhere."""
