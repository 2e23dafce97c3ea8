"""Figures of the part on what attention learns."""
