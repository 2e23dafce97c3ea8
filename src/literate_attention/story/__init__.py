"""The story: from six toy embeddings to multi-head attention, one module for each chapter."""
