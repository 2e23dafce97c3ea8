"""Kernels, and what happens in them: all that an execution depends on, besides the page and the library."""
