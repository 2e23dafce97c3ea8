"""What the pages say of ten draws of heads, sentences and random tokens."""

import json

import pytest
from harness.paths import ROOT

MEASURED = json.loads((ROOT / "docs" / "measurements" / "trained_heads.json").read_text("utf-8"))[
    "results"
]


def mean(name, group="copying"):
    values = MEASURED[group][name]
    assert len(values) == 10
    return sum(values) / 10


def test_few_heads_copy_random_tokens() -> None:
    """About half are copied, none without the best eight, few without 16/0; others hardly matter."""
    whole = mean("random, all heads")
    assert 0.4 < whole < 0.6
    assert max(MEASURED["copying"]["random, without the best eight"]) < 0.1
    assert mean("random, without layer 16, head 0") < whole / 4
    _, *rivals = MEASURED["heads"]["previous token"]
    assert len(rivals) == 6
    for rest in (
        "eight others of these layers",
        "the eight that look most at the first token",
        "another head of layer 16",
        *(f"layer {layer}, head {head}" for layer, head in rivals),
    ):
        assert mean(f"random, without {rest}") > 0.85 * whole


def test_sentences_are_copied_in_other_ways_as_well() -> None:
    """The eight matter less, and early heads to everything."""
    assert 0.2 < mean("words, first reading") < 0.3
    assert 0.6 < mean("words, without the best eight") < mean("words, all heads") - 0.2
    losses = {name: mean(f"loss, {name}") for name in ("all heads", "without eight early heads")}
    assert losses["without eight early heads"] > losses["all heads"] + 3
    for name in ("without the best eight", "without layer 16, head 0"):
        assert mean(f"loss, {name}") == pytest.approx(losses["all heads"], abs=0.1)


def test_two_wires_carry_the_notes() -> None:
    """Cut, they cost nearly all; alone, they keep most; and to cut them costs more than to lose the head."""
    whole = mean("random, all heads")
    assert mean("random, its two wires cut") < 0.1 * whole
    assert mean("random, only these two left") > 0.75 * whole
    assert mean("random, another head's two wires cut") > 0.95 * whole
    assert mean("random, the wires of all other previous-token heads cut") > 0.7 * whole
    for kind in ("random", "words"):
        for part in ("queries", "values"):
            hidden = mean(f"{kind}, hidden from the {part}")
            assert hidden > 0.8 * mean(f"{kind}, all heads")
        repaired = mean(f"{kind}, without layer 16, head 0") - mean(f"{kind}, its two wires cut")
        assert repaired > 0.05


def test_heads_look_where_forged_notes_point() -> None:
    places = {"the one before": "after a copy", "the one two back": "one too far"}
    for kind in ("random", "words"):
        for named, there in (places | {"itself": "one too near"}).items():
            name = f"{kind}, forged notes naming {named}"
            looks = {place: mean(f"{name}, looks {place}") for place in (*places.values(), there)}
            assert max(looks, key=looks.__getitem__) == there
            assert looks[there] > 0.4
        assert mean(f"{kind}, forged notes naming the one before") > mean(f"{kind}, all heads")
        assert mean(f"{kind}, forged from embeddings, looks after a copy") < 0.05
    weak = mean("random, forged as weak as written")
    assert weak == pytest.approx(mean("random, all heads"), abs=0.05)
    for lie in ("itself", "the one two back"):
        assert mean(f"random, forged notes naming {lie}") < 0.1


def test_one_head_speaks_against_the_giver() -> None:
    whole, without = mean("all heads", "names"), mean("without 23/3", "names")
    assert 0.3 * whole < without < 0.7 * whole
    assert mean("without another head", "names") == pytest.approx(whole, abs=0.3)
    changed = {
        name: mean(f"without 23/3, {name} name", "names") - mean(f"all heads, {name} name", "names")
        for name in ("right", "wrong")
    }
    assert changed["wrong"] > 2
    assert abs(changed["right"]) < 0.2
    assert min(MEASURED["names"]["without 23/3"]) > 0
