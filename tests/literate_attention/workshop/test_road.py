"""The road through a reader's folder is that of the book: its chapters, its sections, its names."""

import re
from functools import partial
from itertools import groupby

import pytest
from harness.paths import DOCS
from torch import nn

from literate_attention import MultiHeadLatentAttention, RotaryEmbedding
from literate_attention.workshop._road import CHAPTERS
from literate_attention.workshop._stub_source import stub
from literate_attention.workshop.pieces import BY_NAME, PIECES


def page(chapter):
    return (DOCS / f"{chapter}.md").read_text("utf-8")


def test_the_chapters_come_in_the_order_of_the_book() -> None:
    contents = re.findall(r"^(?:story|models)/\w+$", page("index"), re.MULTILINE)
    chapters = [chapter for chapter, _ in groupby(PIECES, lambda piece: piece.chapter)]
    assert chapters == [chapter for chapter in contents if chapter in chapters]
    assert [*CHAPTERS] == [one.rpartition("/")[2] for one in chapters]


@pytest.mark.parametrize("chapter", dict.fromkeys(piece.chapter for piece in PIECES))
def test_a_chapter_explains_its_pieces_in_their_order_and_says_how_to_ask_for_a_verdict(
    chapter,
) -> None:
    text, stem = page(chapter), chapter.rpartition("/")[2]
    headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    places = [headings.index(piece.section) for piece in CHAPTERS[stem]]
    assert places == sorted(places)
    assert text.count(f"`python -m literate_attention check my_attention {stem}`") == 1
    for piece in CHAPTERS[stem]:
        if piece.exercise:
            _, exercise = text.split(f"\n:label: {piece.exercise}\n")
            asked = exercise[: exercise.index("{exercise-end}")]
            assert re.search(rf'check_piece\((\w+, "{piece.name}"|{piece.name})\)', asked)


EXAMPLES = {
    "RMSNorm": (3,),
    "SwiGLU": (3, 5),
    "TransformerBlock": (nn.Linear(3, 3), 3, 5),
    "LanguageModel": (11, 3, [nn.Linear(3, 3)]),
    "GroupedQueryAttention": (4, 4, 2, 1),
    "MultiHeadLatentAttention": partial(
        *(MultiHeadLatentAttention, 4, 4, 2), head_dim=2, latent_dim=3, rope=RotaryEmbedding(2, 4)
    ),
}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_stub_shows_the_names_by_which_a_checkpoint_is_read(piece) -> None:
    names = []
    if piece.name in EXAMPLES:
        made = EXAMPLES[piece.name]
        module = made() if callable(made) else piece.library(*made)
        assert isinstance(module, nn.Module)
        names = [name.partition(".")[0] for name, _ in module.named_parameters()]
    assert piece.attributes == (*dict.fromkeys(names),)
    said = " ".join(stub(piece).split())
    assert ("names of these attributes: " in said) == bool(names)
    assert ", ".join(f"`{name}`" for name in piece.attributes) in said


def test_every_name_that_a_command_in_the_book_gives_is_known() -> None:
    for path in DOCS.glob("[a-z]*/*.md"):
        for name in re.findall(
            r"literate_attention check my_attention (\w+)", path.read_text("utf-8")
        ):
            assert name in {*CHAPTERS, *BY_NAME}
