"""Tasks of a few words each, which one kind of attention can do and the one before it cannot.

Of two tasks, the first is to train on; the second holds the other examples, to test on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, permutations, product

import torch
from jaxtyping import Int
from torch import Tensor

__all__ = [
    "Task",
    "both_sides_task",
    "gloves_task",
    "lookup_task",
    "next_word_task",
    "word_order_task",
]

COLOURS = ("red", "yellow", "blue", "green")
THINGS = {
    "fruit?": {"red": "cherry", "yellow": "lemon", "blue": "plum", "green": "lime"},
    "animal?": {"red": "lobster", "yellow": "canary", "blue": "whale", "green": "frog"},
    "nature?": {"red": "ruby", "yellow": "sun", "blue": "sky", "green": "grass"},
}
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
BEATEN_BY = {loser: winner for winner, loser in BEATS.items()}
_HANDS = tuple(f"{colour}-{hand}" for hand in BEATS for colour in COLOURS)
WHO = ("dog", "man", "cat", "boy", "fox", "girl")
FOOD = {"cat": "fish", "dog": "bones", "cow": "grass", "hen": "corn"}


@dataclass(frozen=True)
class Task:
    """Examples of a few words each, and the answers that a model is to learn.

    Args:
        words: the vocabulary; the id of a word is its place in it.
        choices: what may be answered; an answer is a place in it.
        examples: the ids of the words, one example a row.
        answers: what the last words of each example are to be answered with, one answer for each of these
            words, or several.
    """

    words: tuple[str, ...]
    choices: tuple[str, ...]
    examples: Int[Tensor, "num_examples num_tokens"]
    answers: Int[Tensor, "num_examples num_answers *several"]

    def token_ids(self, sentence: str) -> Int[Tensor, " num_tokens"]:
        """Turn words, with blanks between them, into their ids.

        Raises:
            ValueError: a word is not in the vocabulary.

        Example:
            >>> lookup_task()[0].token_ids("cherry whale grass fruit?")
            tensor([ 0,  6, 11, 12])
        """
        for word in sentence.split():
            if word not in self.words:
                raise ValueError(f"{word!r} is none of the task's words: {', '.join(self.words)}")
        return torch.tensor([self.words.index(word) for word in sentence.split()])

    def sentence(self, row: int) -> str:
        """Turn the ids of an example back into its words, with blanks between them."""
        return " ".join(self.words[token_id] for token_id in self.examples[row].tolist())


def _task(words: tuple[str, ...], choices: tuple[str, ...], rows: list[tuple[str, str]]) -> Task:
    examples = [[words.index(word) for word in example.split()] for example, _ in rows]
    answers = [[choices.index(word) for word in answer.split()] for _, answer in rows]
    return Task(words, choices, torch.tensor(examples), torch.tensor(answers))


def _coloured(
    words: tuple[str, ...], rows: Callable[[tuple[str, ...]], list[tuple[str, str]]]
) -> tuple[Task, Task]:
    """Make two tasks: of 48 of the 64 combinations of three colours, and of the other 16."""
    combinations = list(product(COLOURS, repeat=3))
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0)).tolist()
    found = [rows(combinations[i]) for i in order]
    seen, unseen = (list(chain.from_iterable(part)) for part in (found[:48], found[48:]))
    return _task(words, COLOURS, seen), _task(words, COLOURS, unseen)


def lookup_task() -> tuple[Task, Task]:
    """Look up the colour of one thing among three: *cherry whale grass fruit?* is answered with *red*.

    Example:
        >>> seen, unseen = lookup_task()
        >>> seen.sentence(0), seen.choices[seen.answers[0, 0]]
        ('plum frog ruby fruit?', 'blue')
    """
    words = (*(thing for things in THINGS.values() for thing in things.values()), *THINGS)

    def rows(colours: tuple[str, ...]) -> list[tuple[str, str]]:
        colour_of = dict(zip(THINGS, colours, strict=True))
        things = " ".join(THINGS[kind][colour] for kind, colour in colour_of.items())
        return [(f"{things} {kind}", colour) for kind, colour in colour_of.items()]

    return _coloured(words, rows)


def word_order_task() -> tuple[Task, Task]:
    """Say who is at the receiving end: *dog bites man whom?* is answered with *man*.

    Example:
        >>> seen, unseen = word_order_task()
        >>> seen.sentence(0), seen.choices[seen.answers[0, 0]]
        ('cat hears girl whom?', 'girl')
    """
    words = (*WHO, "bites", "sees", "hears", "whom?")
    rows = [
        (f"{who} {does} {whom} whom?", whom)
        for who, whom in permutations(WHO, 2)
        for does in ("bites", "sees", "hears")
    ]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    seen, unseen = [rows[i] for i in order[:70]], [rows[i] for i in order[70:]]
    return _task(words, WHO, seen), _task(words, WHO, unseen)


def gloves_task() -> tuple[Task, Task]:
    """Rock, paper, scissors in coloured gloves: each hand names the colour of the glove that it beats.

    Example:
        >>> seen, unseen = gloves_task()
        >>> seen.sentence(0), [seen.choices[answer] for answer in seen.answers[0]]
        ('blue-rock green-paper red-scissors', ['red', 'blue', 'green'])
    """

    def rows(colours: tuple[str, ...]) -> list[tuple[str, str]]:
        glove = dict(zip(BEATS, colours, strict=True))
        hands = " ".join(f"{colour}-{hand}" for hand, colour in glove.items())
        return [(hands, " ".join(glove[BEATS[hand]] for hand in glove))]

    return _coloured(_HANDS, rows)


def next_word_task() -> Task:
    """Go on with sixteen sentences, such as *the small cat likes fish*, word by word.

    Each begins with the full stop of the one before, and each word is to be answered with the next.

    A sentence has three places where something is left open: the size, the animal and what it does. No model
    that reads only what has been written can have a smaller loss than the entropy of this language, the
    logarithm of sixteen, divided among the six words that are to be guessed.

    Example:
        >>> task = next_word_task()
        >>> task.sentence(0), " ".join(task.choices[answer] for answer in task.answers[0])
        ('. the small cat likes fish', 'the small cat likes fish .')
    """
    sizes, does = ("small", "big"), ("likes", "wants")
    words = (".", "the", *sizes, *FOOD, *does, *FOOD.values())
    sentences = [
        f"the {size} {animal} {likes} {food}"
        for size in sizes
        for animal, food in FOOD.items()
        for likes in does
    ]
    return _task(words, words, [(f". {text}", f"{text} .") for text in sentences])


def both_sides_task() -> tuple[Task, Task]:
    """The last of three hands names two colours: of the glove that it beats, and of the one that beats it.

    Each combination of colours comes in all six orders of the hands.

    Example:
        >>> seen, unseen = both_sides_task()
        >>> seen.sentence(0), [seen.choices[answer] for answer in seen.answers[0, 0]]
        ('blue-rock green-paper red-scissors', ['green', 'blue'])
    """

    def rows(colours: tuple[str, ...]) -> list[tuple[str, str]]:
        glove = dict(zip(BEATS, colours, strict=True))
        rows = []
        for hands in permutations(glove):
            example = " ".join(f"{glove[hand]}-{hand}" for hand in hands)
            last = hands[-1]
            rows.append((example, f"{glove[BEATS[last]]} {glove[BEATEN_BY[last]]}"))
        return rows

    seen, unseen = (
        replace(task, answers=task.answers.unsqueeze(1)) for task in _coloured(_HANDS, rows)
    )
    return seen, unseen
