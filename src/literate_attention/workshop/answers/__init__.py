"""Checks of single answers, a module for each part of the book."""
