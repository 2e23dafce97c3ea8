"""Every entry of the ledger is claimed by a cell that reproduces it, or the build says where not."""

import re

import pytest
from harness.books import RAN_WITH, cell

SCORES = "tensor([0.9544, 1.4950])"
SHAPE = "torch.Size([2, 6, 3])"


def source(**changes):
    keys = {"id": "000", "kind": "blog post", "what": "Notes.", "lines": 9, "sha256": "0" * 64}
    return "[[source]]\n" + "".join(
        f"{k} = {v!r}\n".replace("'", '"') for k, v in (keys | changes).items()
    )


def output(output_id, printed, places=""):
    places = places or '{ source = "000", line = 54, section = "Scores" }'
    return f'[[output]]\nid = "{output_id}"\nprinted = """{printed}"""\nplaces = [{places}]\n'


GOOD = source() + output("scores", SCORES) + output("shape", SHAPE)


@pytest.fixture
def book(new_book):
    book = new_book("ledger", book_ledger="sources.toml")
    book.write("sources.toml", GOOD)
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    book.page("good", "# Good\n", cell(f"print('shape: {SHAPE}')", ":verifies: shape"))
    return book


def claim_scores(book, code=f"print('scores', '{SCORES}')", claims="scores") -> None:
    book.page("page", "# Page\n", cell(code, f":verifies: {claims}"))


# Claims


BROKEN_CLAIMS = [
    ("pass", "scores", r"claims 1 \(scores\) but prints nothing that is a value"),
    ("print(3, SHAPE)", "scores shape", r"claims 2 \(scores, shape\) but prints 1 val"),
    ("print(SCORES, SHAPE)", "scores", r"claims 1 \(scores\) but prints 2 values"),
    ("print(SHAPE, SCORES)", "scores shape", r"does not reproduce 'scores'"),
    ("print(SCORES)", "unheard-of", r"claims 'unheard-of', which the ledger does not"),
    ("print(SCORES)", "", r"`:verifies:` names no entry"),
    ("print(SCORES, '(max 0.25)')", "scores", r"prints 0.25, which no entry checks"),
    *(
        (f"print({label!r}, SCORES)", "scores", r", which no entry checks")
        for label in ("{'loss': 0.5}", "2.5e-3 x", "+0.5 x", "0.5|0.7", "<0.5>", "≈0.5", "0.5s")
    ),
    ("print(SCORES.replace('1.49', '1.48'))", "scores", r"reproduce 'scores'"),
]


def test_a_broken_claim_is_said(book) -> None:
    for number, (code, claims, _) in enumerate(BROKEN_CLAIMS):
        code = f"SCORES, SHAPE = {SCORES!r}, {SHAPE!r}\n{code}"
        book.page(f"page{number}", f"# Page {number}\n", cell(code, f":verifies: {claims}"))
    warnings = book.build().warnings
    for number, (code, _, message) in enumerate(BROKEN_CLAIMS):
        found = rf"page{number}\.md:8: .*{message}"
        assert any(re.search(found, line) for line in warnings), code


def test_the_device_that_ran_the_page_sets_the_tolerance(book, monkeypatch) -> None:
    code = "print('tensor([0.9544, 1.495003])')\n"
    claim_scores(book, code)
    assert book.build().status == 1
    monkeypatch.setitem(RAN_WITH, "device", "cuda")
    claim_scores(book, f"# on another device\n{code}")
    assert book.build().status == 0


def test_an_entry_that_no_cell_claims_fails_every_build(book) -> None:
    for _ in range(2):
        build = book.build()
        (warning,) = build.warnings
        assert "sources.toml:1: WARNING: output 'scores' is claimed by no cell" in warning
        assert "1 of 2 source outputs verified" in build.said


# For readers


def test_a_claim_is_met_and_cell_and_entry_are_linked_both_ways(book) -> None:
    claim_scores(book)
    build = book.build()
    assert (build.status, build.warnings) == (0, [])
    assert "2 of 2 source outputs verified" in build.said
    assert 'id="reproduces-scores"' in build.html("page")
    assert 'href="sources.html#source-output-scores"' in build.html("page")
    page = build.html("sources")
    assert 'id="source-output-scores"' in page
    assert re.search(
        r'Verified on this build, reproduced in <a [^>]*href="page.html#reproduces-scores"', page
    )
    assert "Source 000 (blog post), line 54: Scores" in page
    assert "2 of 2 source outputs verified" in page


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_ledgers_page_follows_when_only_another_page_changed(book, jobs) -> None:
    claim_scores(book)
    assert "Not verified" not in book.build(jobs=jobs).html("sources")
    claim_scores(book, "print('tensor([0.9544, 1.4850])')")
    build = book.build(jobs=jobs)
    assert "Not verified on this build, reproduced in" in build.html("sources")
    assert "1 of 2 source outputs verified" in build.html("sources")
    claim_scores(book)
    assert "Not verified" not in book.build(jobs=jobs).html("sources")


# Sources in sentences

TITLED = source(title="Attention") + source(id="001") + source(id="003", title="Attention")


def link(number, text):
    address = f"sources.html#source-{number}"
    return f'<a class="reference internal" href="{address}"><span class="std std-ref">{text}</span></a>'


NAMED = {
    "000": f"{link('000', 'Source 000')} (Attention)",
    "001": f"{link('001', 'Source 001')} (blog post)",
    "000 003": f"{link('000', 'Sources 000')} and {link('003', '003')} (Attention)",
}


def test_a_source_is_named_with_its_title_and_leads_to_the_ledger(new_book) -> None:
    book = new_book(book_ledger="sources.toml")
    book.write("sources.toml", TITLED)
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    book.page("page", "# Page\n\n" + "\n\n".join(f"{{source}}`{one}`, line 3" for one in NAMED))
    build = book.build()
    assert build.warnings == []
    for says in NAMED.values():
        assert f"<p><span>{says}</span>, line 3</p>" in build.html("page")
    for number in ("000", "001", "003"):
        assert build.html("sources").count(f'<dt id="source-{number}">') == 1
    book.write("sources.toml", TITLED.replace("Attention", "Notes"))
    assert "(Notes)</span>, line 3" in book.build().html("page")
    book.page("page", "# Page\n\n{source}`000 02`\n")
    (warning,) = book.build().warnings
    assert re.search(r"page.md:\d+: WARNING: undefined label: 'source-02'", warning)


def test_a_change_of_the_ledger_alone_is_noticed_and_mended(book) -> None:
    claim_scores(book)
    assert book.build().status == 0
    book.change("sources.toml", "0.9544", "0.9546")
    assert "Not as printed in source 000" in book.build().html("page")
    book.put_back()
    assert "Not as printed" not in book.build().html("page")
