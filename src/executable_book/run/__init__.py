"""Pages become notebooks with outputs."""
