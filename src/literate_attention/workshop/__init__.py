"""The path from an empty file to a model that speaks through a reader's own code."""
