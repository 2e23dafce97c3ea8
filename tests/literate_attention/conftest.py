"""What tests of the library share: attention by loops, what the sources print, and no type checker."""

import itertools
import math
import socket
from collections.abc import Callable, Iterator
from typing import NoReturn

import jaxtyping
import pytest
import torch
from torch import Tensor


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch the type checker off that test runs install: readers meet the package's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every use of the network fail, with an error that no code expects."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("something asked for the network")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture(scope="session")
def attend_by_loops() -> Callable[..., tuple[Tensor, Tensor]]:
    """Return scaled dot-product attention as its formula reads, one float64 at a time."""

    def attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        allowed: Tensor | None = None,
        scale: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        *batch, q_len, head_dim = query.shape
        kv_len = key.shape[-2]
        scale = 1 / math.sqrt(head_dim) if scale is None else scale
        if allowed is None:
            allowed = torch.ones(q_len, kv_len, dtype=torch.bool)
        allowed = allowed.expand(*batch, q_len, kv_len)
        context = torch.zeros(*batch, q_len, value.shape[-1], dtype=torch.float64)
        weights = torch.zeros(*batch, q_len, kv_len, dtype=torch.float64)
        for index in itertools.product(*map(range, batch)):
            q, k, v = query[index].tolist(), key[index].tolist(), value[index].tolist()
            may = allowed[index].tolist()
            for i in range(q_len):
                scores = {
                    j: scale * sum(a * b for a, b in zip(q[i], k[j], strict=True))
                    for j in range(kv_len)
                    if may[i][j]
                }
                total = sum(math.exp(score) for score in scores.values())
                weight = {j: math.exp(score) / total for j, score in scores.items()}
                weights[(*index, i)] = weights.new_tensor([weight.get(j, 0) for j in range(kv_len)])
                context[(*index, i)] = context.new_tensor(
                    [sum(weight[j] * column[j] for j in weight) for column in zip(*v, strict=True)]
                )
        return context, weights

    return attend
