"""Random numbers that are the same in every run."""

import torch


def random_tensor(*shape, seed=7, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_ids(vocab_size, *shape, seed=7):
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(seed))
