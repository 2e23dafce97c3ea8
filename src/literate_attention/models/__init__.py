"""From the module to a model that runs: blocks, rotations, shared keys, a cache, trained weights."""
