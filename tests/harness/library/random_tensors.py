"""Random numbers that are the same in every run."""

import torch


def random_tensor(*shape, seed=7, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_ids(vocab_size, *shape, seed=7):
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def query_key_value(*batch, q_len=3, kv_len=5, head_dim=7, value_dim=11, dtype=torch.float64):
    shapes = (q_len, head_dim), (kv_len, head_dim), (kv_len, value_dim)
    return [
        random_tensor(*batch, *shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)
    ]
