"""How fast windows over a long text come, and what they cost in memory: our loader and the sources'."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from measuring.circumstances import cores
from measuring.timing import interleaved, no_garbage_collection, ratios, spread
from memory import forget_peak, resident
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from literate_attention import SAMPLE_TEXT, create_dataloader_v1, gpt2_tokenizer

QUESTION = "How many windows a second does the data loader give on a text of 10 million tokens?"
METHOD = """
The text is the book's sample sentence, repeated until GPT-2's tokenizer makes 10 million tokens of
it. It is the same text for both; a real one would take longer to tokenize. Both loaders were
compared, window by window, before they were timed; they ran in turns, one epoch each, in shuffled
order, in the process itself (num_workers=0). Memory is the highest resident size while the loader
was made and one batch was fetched, less the resident size before, in a process of its own. It
includes what the tokenizer needs for a while.
"""
TOKENS = 10_000_000
WINDOW, STRIDE = 256, 128
BATCHES = (8, 64)
ROUNDS = 5
LEAST_TIMES_AS_MANY = 1.0

Pair = tuple[Tensor, Tensor]


class SourceDataset(Dataset[Pair]):
    """What the sources teach: a tensor of its own for every window, and another for its target."""

    def __init__(self, text: str, max_length: int, stride: int) -> None:
        token_ids = gpt2_tokenizer().encode(text, allowed_special={"<|endoftext|>"})
        starts = range(0, len(token_ids) - max_length, stride)
        self.input_ids = [torch.tensor(token_ids[i : i + max_length]) for i in starts]
        self.target_ids = [torch.tensor(token_ids[i + 1 : i + 1 + max_length]) for i in starts]

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, index: int) -> Pair:
        return self.input_ids[index], self.target_ids[index]


def source_loader(
    text: str, batch_size: int, max_length: int, stride: int, shuffle: bool = True
) -> DataLoader[Any]:
    """Return the loader that the sources teach."""
    dataset = SourceDataset(text, max_length, stride)
    return DataLoader(dataset, batch_size, shuffle=shuffle, drop_last=True)


MAKERS: dict[str, Callable[..., DataLoader[Any]]] = {
    "ours": create_dataloader_v1,
    "the sources' class": source_loader,
}


def long_text(tokens: int = TOKENS) -> str:
    """Return the sample sentence, repeated until it has so many tokens."""
    sentence = SAMPLE_TEXT + " "
    times = 100
    per_sentence = len(gpt2_tokenizer().encode(sentence * times)) / times
    return sentence * (int(tokens / per_sentence) + 1)


def measure() -> dict[str, Any]:
    """Measure both loaders."""
    torch.set_num_threads(cores())
    results = [*speed(), *(in_a_process(name, STRIDE) for name in MAKERS), in_a_process("ours", 1)]
    return {
        "name": "loader",
        "question": QUESTION,
        "method": METHOD,
        "packages": ("tiktoken",),
        "results": results,
        "targets": [
            {
                "target": "at least as many windows a second as the sources' class",
                "where": f"batches of {row['batch_size']}",
                "measured": row["times_ours"]["median"],
                "least": LEAST_TIMES_AS_MANY,
                "met": row["times_ours"]["median"] >= LEAST_TIMES_AS_MANY,
            }
            for row in results
            if row["contender"] == "the sources' class" and row["measured"] == "windows a second"
        ],
    }


def speed() -> list[dict[str, Any]]:
    """Time whole epochs, both loaders in turns."""
    text = long_text()
    loaders = {name: make(text, 1, WINDOW, STRIDE) for name, make in MAKERS.items()}
    rows = []
    for batch_size in BATCHES:
        turns = {name: rebatched(loader, batch_size) for name, loader in loaders.items()}
        require_equal(*(rebatched(one, batch_size, shuffle=False) for one in loaders.values()))
        runs = {name: (lambda loader=loader: exhaust(loader)) for name, loader in turns.items()}
        times = interleaved(runs, rounds=ROUNDS, warm_up=1)
        windows = len(turns["ours"]) * batch_size
        rows += [
            {
                "measured": "windows a second",
                "contender": name,
                "batch_size": batch_size,
                "windows": windows,
                "windows_a_second": spread([windows / seconds for seconds in times[name]]),
                "times_ours": spread(ratios(times[name], times["ours"])),
            }
            for name in MAKERS
        ]
    return rows


def rebatched(loader: DataLoader[Any], batch_size: int, *, shuffle: bool = True) -> DataLoader[Any]:
    """Return a loader of the same windows in other batches, without reading the text again."""
    return DataLoader(
        loader.dataset,
        batch_size,
        shuffle=shuffle,
        drop_last=True,
        collate_fn=loader.collate_fn,
    )


def exhaust(loader: DataLoader[Any]) -> None:
    """Fetch every batch of an epoch."""
    for _ in loader:
        pass


def require_equal(ours: DataLoader[Any], theirs: DataLoader[Any]) -> None:
    """Refuse to time loaders of which one gives other windows.

    Raises:
        AssertionError: They differ.
    """
    for batch, other in zip(ours, theirs, strict=True):
        assert all(map(torch.equal, batch, other)), "the loaders give other windows"


def in_a_process(name: str, stride: int) -> dict[str, Any]:
    """Return memory and time of making a loader in a new process."""
    command = [sys.executable, __file__, name, str(stride)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"measured": "memory", "contender": name, "stride": stride, **json.loads(result.stdout)}


def cost_of_making(name: str, stride: int) -> dict[str, Any]:
    """Measure how much memory and time it takes until the first batch is there."""
    text = long_text()
    gpt2_tokenizer().encode(SAMPLE_TEXT)
    forget_peak()
    before = resident("VmRSS")
    with no_garbage_collection():
        start = time.perf_counter()
        loader = MAKERS[name](text, BATCHES[0], WINDOW, stride, shuffle=False)
        next(iter(loader))
        seconds = time.perf_counter() - start
    return {
        "windows": len(loader.dataset),
        "seconds": round(seconds, 2),
        "mib_at_most": round((resident("VmHWM") - before) / 1024),
        "mib_kept": round((resident("VmRSS") - before) / 1024),
    }


if __name__ == "__main__":
    print(json.dumps(cost_of_making(sys.argv[1], int(sys.argv[2]))))
