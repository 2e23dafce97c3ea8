"""What readers download."""
