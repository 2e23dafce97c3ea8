"""Checks of single answers, chapter by chapter."""
