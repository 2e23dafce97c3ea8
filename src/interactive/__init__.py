"""What readers can touch, and the numbers that it starts from."""
