"""Let SmolLM2 speak through what a reader has written."""

import argparse
import codecs
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from types import CodeType

import tiktoken
import torch

from literate_attention.models.kv_cache import empty_caches, greedy
from literate_attention.models.real_model import chat_prompt, load_smollm2
from literate_attention.workshop._chapters import WIDTH, FirstLines, WorkshopError
from literate_attention.workshop.assembling import (
    CONTEXT_LENGTH,
    IN_MODEL,
    Assembly,
    Comparison,
    Pieces,
    ReadersCode,
    where_it_stops,
)
from literate_attention.workshop.checking import RIGHT, WRONG, Checked, check
from literate_attention.workshop.pieces import functions_of


@contextmanager
def recorded_calls() -> Iterator[set[CodeType]]:
    """Collect the code of all functions that are called in a context."""
    called: set[CodeType] = set()
    sys.setprofile(lambda frame, *_: called.add(frame.f_code))
    try:
        yield called
    finally:
        sys.setprofile(None)


def talk(
    folder: str | os.PathLike[str],
    text: str = "Once upon a time",
    *,
    max_new_tokens: int = 40,
    chat: bool = False,
) -> None:
    """Let SmolLM2 continue a text through what you have written that is right; all else is the library's.

    It is printed token by token, after a list of whose pieces run, and compared with the library's own.

    Args:
        folder: where your files are.
        text: how the text begins.
        max_new_tokens: the most tokens to add, each the most probable one.
        chat: whether the text is a question.

    Raises:
        ValueError: there is no such folder, the text is empty or too long, or your code stops.
    """
    ours, tokenizer = library_model()
    token_ids = torch.tensor(
        [asked(text, tokenizer) if chat else tokenizer.encode(text, allowed_special="all")]
    )
    require_length(token_ids.shape[-1] if text else 0, max_new_tokens)
    sign_of_life("Your pieces are judged")
    checked = check(folder, *IN_MODEL)
    right = checked.named(RIGHT)
    printed, say = FirstLines(), partial(print, file=sys.stdout)
    with redirect_stdout(printed):
        sign_of_life("The library's model reads the text, and then yours does")
        comparison = Comparison(ReadersCode(Path(folder), right), ours, token_ids)
        try:
            with recorded_calls() as called:
                mine = comparison.assembled(right)
                fits = comparison.is_ours(mine)
            for line in whose_pieces(checked, mine.pieces, called):
                say(line)
            if not fits:
                sign_of_life("The cause is looked for")
                say(f"Other numbers than ours. {comparison.cause(right)}")
                comparison.written.only(right)
            say()
            say("" if chat else text, end="", flush=True)
            said, speed = speak(
                mine.write(token_ids, max_new_tokens, greedy),
                tokenizer,
                partial(say, end="", flush=True),
            )
        except Exception as error:
            raise WorkshopError(
                f"Your model stops with {where_it_stops(error, Path(folder))}. "
                f"{comparison.cause(right)}"
            ) from None
    print("\n")
    sign_of_life("The library's model writes")
    ours_tokens = ours.write(token_ids, max_new_tokens, greedy)
    ours_said, our_speed = speak(ours_tokens, tokenizer, lambda _: None)
    same = "the same text" if said == ours_said else "another text"
    print(f"{speed:.1f} tokens a second; ours writes {same} with {our_speed:.1f}.")
    if printed.lines:
        lines = "1 line" if printed.lines == 1 else f"{printed.lines} lines"
        print(f"Your pieces printed {lines} meanwhile, which are left out.")


def sign_of_life(what: str) -> None:
    """Say on a terminal what goes on that says nothing itself for a while."""
    if sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)


def asked(question: str, tokenizer: tiktoken.Encoding) -> list[int]:
    """Write a question as tokens; signs of the frame that stand in the question itself are only text."""
    before, after = chat_prompt("?").rsplit("?", 1)
    frame = partial(tokenizer.encode, allowed_special="all")
    return [*frame(before), *tokenizer.encode_ordinary(question), *frame(after)]


def library_model() -> tuple[Assembly, tiktoken.Encoding]:
    """Load SmolLM2 as the library has it."""
    try:
        model, tokenizer = load_smollm2("cpu")
    except (ModuleNotFoundError, OSError, ValueError) as error:
        why = str(error).partition("; choose another folder")[0]  # by an argument that is not ours
        raise WorkshopError(f"SmolLM2 cannot be loaded: {why}.") from None
    return Assembly(model, lambda max_tokens: list(empty_caches(model, 1, max_tokens))), tokenizer


def require_length(num_tokens: int, max_new_tokens: int) -> None:
    """Refuse a text that is empty or too long for the model."""
    if not num_tokens:
        raise WorkshopError("The text is empty; give it at least one word to go on from.")
    if max_new_tokens < 1:
        raise WorkshopError(f"At least one token has to be added, not {max_new_tokens}.")
    if num_tokens + max_new_tokens > CONTEXT_LENGTH:
        raise WorkshopError(
            f"SmolLM2 reads {CONTEXT_LENGTH} tokens at most; the text has {num_tokens}, "
            f"and {max_new_tokens} are to be added."
        )


def whose_pieces(checked: Checked, pieces: Pieces, called: set[CodeType]) -> Iterator[str]:
    """List the pieces that run, whose they are, and what was left out."""
    right = checked.named(RIGHT)
    codes = {name: {one.__code__ for one in functions_of(pieces[name])} for name in IN_MODEL}
    runs = [name for name, code in codes.items() if not code or code & called]
    groups = {
        "yours": [name for name in runs if name in right],
        "ours": [name for name in runs if name not in right],
        "yours, but nothing here calls it": [name for name in right if name not in runs],
    }
    number = {0: "none", len(runs): "all"}.get(len(groups["yours"]), str(len(groups["yours"])))
    yield f"SmolLM2 runs on {len(runs)} pieces, {number} of them yours:"
    for whose, names in groups.items():
        if names:
            yield from listed(f"{whose}: {', '.join(names)}")
    for one in checked.results:
        if one.state == WRONG:
            yield from listed(f"left out: {one.piece.name}. {one.verdict.says.split('. ')[0]}")


def listed(text: str) -> list[str]:
    """Break an item of a list into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def speak(
    tokens: Iterator[int], tokenizer: tiktoken.Encoding, show: Callable[[str], object]
) -> tuple[list[int], float]:
    """Show tokens as they come, up to the one that ends an answer.

    Returns:
        The tokens, and how many came in a second after the first.
    """
    stop_token = tokenizer.encode_single_token("<|im_end|>")
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    said, times = [], []
    for token in tokens:
        times.append(time.perf_counter())
        said.append(token)
        if token == stop_token:
            break
        show(decoder.decode(tokenizer.decode_single_token_bytes(token)))
    show(decoder.decode(b"", final=True))
    lasted = times[-1] - times[0]
    return said, (len(times) - 1) / lasted if lasted else 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Let SmolLM2, a trained model, continue a text through what you have written that is right; "
        "all other pieces are the library's."
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder that `start` has made")
    parser.add_argument(
        "text", metavar="TEXT", nargs="?", help="how the text begins; by default Once upon a time"
    )
    parser.add_argument(
        "--chat", metavar="QUESTION", help="instead of a text, a question to answer"
    )
    parser.add_argument("--tokens", type=int, default=40, help="the most tokens to add")


def run(options: argparse.Namespace) -> int:
    """Do what the command line asks."""
    if None not in (options.chat, options.text):
        raise WorkshopError("Give a text to go on from, or --chat and a question, not both.")
    talk(
        options.folder,
        next(one for one in (options.chat, options.text, "Once upon a time") if one is not None),
        max_new_tokens=options.tokens,
        chat=options.chat is not None,
    )
    return 0
