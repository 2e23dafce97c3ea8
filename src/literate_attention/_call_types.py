"""What a type checker is told of calling a module: torch declares that any module may return anything."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, overload

from torch import Tensor

ReturnsTensor: TypeAlias = Callable[..., Tensor]
"""A module that returns one tensor, whatever it is given."""


class ReturnsWeights(Protocol):
    """A module of attention, which returns its weights too if they are asked for."""

    @overload
    def __call__(
        self, x: Tensor, *, need_weights: Literal[False] = False, **options: Any
    ) -> Tensor: ...
    @overload
    def __call__(
        self, x: Tensor, *, need_weights: Literal[True], **options: Any
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, x: Tensor, *, need_weights: bool, **options: Any
    ) -> Tensor | tuple[Tensor, Tensor]: ...
