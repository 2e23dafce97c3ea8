"""What helps a reader to find a place, and to stay there: no page needs it."""
