"""A library for the second book."""
