"""Checks of the part on models."""
