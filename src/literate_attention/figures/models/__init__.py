"""Figures of the models."""
