"""Figures of the story."""
