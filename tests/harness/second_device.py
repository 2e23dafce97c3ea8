"""A second device on a machine that has one: tensors of the CPU that refuse to meet its others.

A cell that makes a tensor where its neighbours are not, or hands one to NumPy that is on a GPU, runs
without a fault on a CPU. Here such a cell fails. `cpu:1` is a device for torch, but its tensors are those of
`cpu`; so this mode marks the memory that was put there, and refuses what torch refuses when devices differ.

`test_downloads.py` runs it as the first cell of notebooks, which then find `cpu:1` in `LITERATE_DEVICE`.
"""

import os

import torch
from torch.overrides import TorchFunctionMode, resolve_name

FIRST, SECOND = torch.device("cpu"), torch.device("cpu:1")
READ_DEVICES = (torch.device, torch._C._nn._parse_to)
"""What takes a device as a name, and puts nothing there."""
ACROSS = {"copy_", "__setitem__", "__set__", "_has_compatible_shallow_copy_type"}
"""What may have its operands on two devices."""


class SecondDevice(TorchFunctionMode):
    """Marks the memory that is on the second device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = (resolve_name(func) or func.__name__).rpartition(".")[2]
        if func in READ_DEVICES or name in ACROSS:
            return func(*args, **kwargs)
        if func == torch.Tensor.device.__get__:  # type: ignore[attr-defined]
            return SECOND if is_second(args[0]) else func(*args)
        if name in {"numpy", "__array__"} and is_second(args[0]):
            raise TypeError("NumPy cannot read the memory of cpu:1; call .cpu() first")
        target = FIRST if name == "cpu" else next(devices_in((*args, *kwargs.values())), None)
        if name == "to" and target is None:  # another tensor says where to, or nothing does
            others = tensors_in((args[1:], kwargs))
            target = next((SECOND if is_second(one) else FIRST for one in others), None)
        if target is None:
            return compute(name, func, args, kwargs)
        if target == SECOND:
            args = tuple(FIRST if as_device(one) else one for one in args)
            kwargs = {key: FIRST if as_device(one) else one for key, one in kwargs.items()}
        result = func(*args, **kwargs)
        if name in {"to", "cpu"} and is_second(args[0]) != (target == SECOND):
            result = result.clone()  # it moved there, so it has memory of its own
        return on_second_device(result) if target == SECOND else result


def compute(name, func, args, kwargs):
    """Compute where the operands are; single numbers, an index and copies so far may come from the CPU."""
    operands = [*tensors_in((args[:1] if name == "__deepcopy__" else args, kwargs))]
    if not any(map(is_second, operands)):
        return func(*args, **kwargs)
    here = [one for one in operands if storage_of(one) and not is_second(one)]
    is_indexed = name == "__getitem__" and is_second(args[0])
    if not is_indexed and not all(map(is_single, here)):
        raise RuntimeError(f"{name} found tensors on two devices, cpu:1 and cpu")
    return on_second_device(func(*args, **kwargs))


def on_second_device(result):
    """Mark the memory of a result as that of the second device."""
    for storage in filter(None, map(storage_of, tensors_in(result))):
        storage.is_second = True  # type: ignore[attr-defined]
    return result


def is_second(tensor):
    return getattr(storage_of(tensor), "is_second", False)


def is_single(tensor):
    with torch._C.DisableTorchFunction():
        return tensor.dim() == 0


def storage_of(tensor):
    """Return a tensor's memory, if it has some of its own."""
    with torch._C.DisableTorchFunction():
        try:
            storage = tensor.untyped_storage()
        except NotImplementedError:  # a wrapper, as those of torch.func
            return None
        return storage if storage.nbytes() and storage.device == FIRST else None


def as_device(value):
    """Return a device that is given as such, or by its name."""
    if isinstance(value, str) and value.partition(":")[0] in {"cpu", "meta"}:
        return torch.device(value)
    return value if isinstance(value, torch.device) else None


def devices_in(values):
    yield from filter(None, map(as_device, values))


def tensors_in(value):
    """Yield the tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(one)


os.environ["LITERATE_DEVICE"] = str(SECOND)
SecondDevice().__enter__()
