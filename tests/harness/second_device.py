"""A second device on a machine that has one: tensors of the CPU that refuse to meet its others.

A cell that makes a tensor where its neighbours are not, or hands one to NumPy that is on a GPU, runs
without a fault on a CPU. Here such a cell fails. `cpu:1` is a device for torch, but its tensors are those of
`cpu`; so this mode keeps account of what was put there, says so when asked, and refuses what torch refuses
when devices differ. What is computed is the same.

Tests run it as the first cell of a notebook, which then finds `cpu:1` named in `LITERATE_DEVICE`.
"""

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

FIRST, SECOND = torch.device("cpu"), torch.device("cpu:1")
READ_DEVICES = (torch.device, torch._C._nn._parse_to)
"""What takes a device as a name, and puts nothing there."""
ACROSS = {"copy_", "__setitem__", "__set__", "_has_compatible_shallow_copy_type"}
"""What may have its operands on two devices."""


class SecondDevice(TorchFunctionMode):
    """Keeps account of the memory that is on the second device."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = name_of(func)
        if func in READ_DEVICES:
            return func(*args, **kwargs)
        if func == torch.Tensor.device.__get__:  # type: ignore[attr-defined]
            return SECOND if self.holds(args[0]) else func(*args)
        if name in {"numpy", "__array__"} and self.holds(args[0]):
            raise TypeError("NumPy cannot read the memory of cpu:1; call .cpu() first")
        if func is torch.Tensor.cpu:
            return self.put(func(*args), FIRST, args[0])
        target = next(filter(None, map(as_device, (*args, *kwargs.values()))), None)
        if name == "to" and target is None:  # another tensor says where to, or nothing does
            target = next((self.place(one) for one in tensors_in((args[1:], kwargs))), None)
        if target is None:
            return self.compute(name, func, args, kwargs)
        if target == SECOND:
            args = tuple(FIRST if as_device(one) else one for one in args)
            kwargs = {key: FIRST if as_device(one) else one for key, one in kwargs.items()}
        source = args[0] if name == "to" else None
        return self.put(func(*args, **kwargs), target, source)

    def compute(self, name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute where the operands are; single numbers may come from the CPU."""
        if name in ACROSS:
            return func(*args, **kwargs)
        here = []
        there = False
        for one in tensors_in((*args, *kwargs.values())):
            if self.holds(one):
                there = True
            else:
                here.append(one)
        if not there:
            return func(*args, **kwargs)
        indexed = name == "__getitem__" and self.holds(args[0])  # an index may come from the CPU
        if not indexed and any(storage_of(one) and not is_single(one) for one in here):
            raise RuntimeError(f"{name} found tensors on two devices, cpu:1 and cpu")
        return self.put(func(*args, **kwargs), SECOND)

    def put(self, result: Any, device: torch.device, source: torch.Tensor | None = None) -> Any:
        """Write down where a result is; if it moved there, it has memory of its own."""
        if source is not None and device in (FIRST, SECOND) and device != self.place(source):
            result = result.clone()
        if device == SECOND:
            for tensor in tensors_in(result):
                if storage := storage_of(tensor):
                    storage.is_second = True  # type: ignore[attr-defined]
        return result

    def place(self, tensor: torch.Tensor) -> torch.device:
        """Return the device on which a tensor is, of the two."""
        return SECOND if self.holds(tensor) else FIRST

    def holds(self, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor is on the second device."""
        return getattr(storage_of(tensor), "is_second", False)


@cache
def name_of(func: Any) -> str:
    """Return the name of a function of torch, without its module's."""
    return (resolve_name(func) or func.__name__).rpartition(".")[2]


def as_device(value: Any) -> torch.device | None:
    """Return a device that is given as such, or by its name."""
    if isinstance(value, str) and value.partition(":")[0] in {"cpu", "meta"}:
        return torch.device(value)
    return value if isinstance(value, torch.device) else None


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """Return a tensor's memory, if it has some of its own."""
    with torch._C.DisableTorchFunction():
        try:
            storage = tensor.untyped_storage()
        except NotImplementedError:  # a wrapper, as those of torch.func
            return None
        return storage if storage.nbytes() and storage.device == FIRST else None


def is_single(tensor: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        return tensor.dim() == 0


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)


os.environ["LITERATE_DEVICE"] = str(SECOND)
SecondDevice().__enter__()
