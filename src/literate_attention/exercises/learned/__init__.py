"""Checks of the part on what attention learns."""
