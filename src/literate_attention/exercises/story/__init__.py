"""Checks of the story."""
