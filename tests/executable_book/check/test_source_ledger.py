"""Every entry of the ledger is claimed by a cell that reproduces it, or the build says where not."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.paths import DOCS

from executable_book.check import source_ledger

LEDGER = DOCS / "sources.toml"
SCORES = "tensor([0.9544, 1.4950])"
SHAPE = "torch.Size([2, 6, 3])"


def source(**changes: object) -> str:
    keys = {"id": "000", "kind": "blog post", "what": "Notes.", "lines": 9, "sha256": "0" * 64}
    return "[[source]]\n" + "".join(
        f"{k} = {v!r}\n".replace("'", '"') for k, v in (keys | changes).items()
    )


def output(output_id: str, printed: str, places: str = "", **changes: str) -> str:
    places = places or '{ source = "000", line = 54, section = "Scores" }'
    sealed = changes.get("sha256", source_ledger.seal(printed))
    return (
        f'[[output]]\nid = "{output_id}"\nprinted = """{printed}"""\nsha256 = "{sealed}"\n'
        f"places = [{places}]\n"
    )


GOOD = source() + output("scores", SCORES) + output("shape", SHAPE)


@pytest.fixture
def book(new_book: Callable[..., object]) -> object:
    book = new_book("ledger", book_ledger="sources.toml")
    book.write("sources.toml", GOOD)
    book.page("sources", "# Sources\n\n```{source-outputs}\n```\n")
    book.page("good", "# Good\n\n" + cell("shape", f"print('shape: {SHAPE}')"))
    return book


def cell(claims: str, code: str) -> str:
    return f"```{{code-cell}}\n:verifies: {claims}\n\n{code}\n```\n"


def claim_scores(book, code: str = f"print('scores', '{SCORES}')", claims: str = "scores") -> None:
    book.page("page", "# Page\n\n" + cell(claims, code))


# The file


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "sources.toml"
    path.write_text(text, encoding="utf-8")
    _, found = source_ledger.load(path)
    assert all(one.where == str(path) for one in found)
    return [f"{one.line}: {one.message}" for one in found]


def test_the_real_ledger_is_sound() -> None:
    book, found = source_ledger.load(LEDGER)
    assert found == ()
    assert len(book.sources) == 5
    assert len(book.outputs) == LEDGER.read_text(encoding="utf-8").count("\n[[output]]\n")


def test_every_digit_of_every_entry_is_sealed(tmp_path: Path) -> None:
    """Changing any one digit of any ledger entry fails, and the message names the entry."""
    book, _ = source_ledger.load(LEDGER)
    for entry in book.outputs:
        for place, character in enumerate(entry.printed):
            if character.isdigit():
                other = str((int(character) + 1) % 10)
                changed = entry.printed[:place] + other + entry.printed[place + 1 :]
                assert source_ledger.seal(changed) != entry.sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[source]\n", "0: not a TOML file"),
        (GOOD + output("scores", SCORES), "8: output 'scores': the id is used twice"),
        (GOOD + source(), "2: source '000': the id is used twice"),
        (GOOD + "[other]\n", "0: unknown key 'other'"),
        (source(lines="many"), "2: source '000': lines must be int, got 'many'"),
        (source(colour="red"), "2: source '000': unknown keys ['colour']"),
        (source() + '[[output]]\nid = "x"\n', "8: output 'x': missing keys ['printed', 'sha256']"),
        (
            source()
            + output("x", "tensor([0.9545])", sha256=source_ledger.seal("tensor([0.9544])")),
            "8: output 'x': `printed` has the seal",
        ),
        (source() + output("x", "label: 3"), "8: output 'x': `printed` must be one value"),
        (source() + output("x", "tensor([1.]"), "8: output 'x': `printed` must be one value"),
        (
            source() + output("x", "3", '{ source = "009", line = 1, section = "s" }'),
            "8: output 'x': place 009:1: unknown source '009'",
        ),
        (
            source() + output("x", "3", '{ source = "000", line = 1 }'),
            "8: output 'x': missing keys ['section']",
        ),
        (
            source()
            + output("x", "3", '{ source = "000", line = 1, section = "s", printed = "4" }'),
            "8: output 'x': place 000:1: prints another value",
        ),
        (
            source()
            + output("x", "3", '{ source = "000", line = 1, section = "s", misprint = "m" }'),
            "8: output 'x': place 000:1: a `misprint` needs its own `printed`",
        ),
        (source() + output("x", "3", " "), "8: output 'x': no place is given"),
        ("[source]\nid = 1\n", "0: 'source' must be tables, each under [[source]]"),
        ("output = 3\n", "0: 'output' must be tables, each under [[output]]"),
        (source() + output("x", "3", "'a'"), "8: output 'x': places must be tables"),
    ],
)
def test_a_flaw_in_the_file_is_named_with_its_entry(
    tmp_path: Path, text: str, message: str
) -> None:
    (found,) = problems(tmp_path, text)
    assert found.startswith(message)


def test_a_misprint_may_differ(tmp_path: Path) -> None:
    place = '{ source = "000", line = 1, section = "s", printed = "tensor([1", misprint = "torn" }'
    assert problems(tmp_path, source() + output("x", "tensor([1])", place)) == []


def test_a_place_may_print_another_suffix(tmp_path: Path) -> None:
    place = '{ source = "000", line = 1, section = "s", printed = "tensor([1.], grad_fn=<MulBackward0>)" }'
    assert problems(tmp_path, source() + output("x", "tensor([1.])", place)) == []


def test_a_missing_ledger_is_one_sentence(tmp_path: Path) -> None:
    _, (found,) = source_ledger.load(tmp_path / "sources.toml")
    assert found.message == "the ledger cannot be read: No such file or directory"


# Claims


def test_all_claims_met(book) -> None:
    claim_scores(book)
    build = book.build()
    assert (build.status, build.warnings) == (0, [])
    assert "2 of 2 source outputs verified" in build.said
    assert "1 of 2" not in book.build().said


BROKEN_CLAIMS = [
    ("pass", "scores", r"claims 1 \(scores\) but prints nothing that is a value"),
    (
        "print(3, SHAPE)",
        "scores shape",
        r"claims 2 \(scores, shape\) but prints 1 val",
    ),
    ("print(SCORES, SHAPE)", "scores", r"claims 1 \(scores\) but prints 2 values"),
    ("print(SHAPE, SCORES)", "scores shape", r"does not reproduce 'scores'"),
    (
        "print(SCORES)",
        "unheard-of",
        r"claims 'unheard-of', which the ledger does not",
    ),
    ("print(SCORES)", "", r"`:verifies:` names no entry"),
    (
        "print(SCORES, '(max 0.25)')",
        "scores",
        r"prints 0.25, which no entry checks",
    ),
    *(
        (f"print({label!r}, SCORES)", "scores", r", which no entry checks")
        for label in ("{'loss': 0.5}", "2.5e-3 x", "+0.5 x", "0.5|0.7", "<0.5>", "≈0.5", "0.5s")
    ),
    ("print(SCORES.replace('1.49', '1.48'))", "scores", r"reproduce 'scores'"),
]


def test_a_broken_claim_fails_every_build(book) -> None:
    """It fails again at the second and third build, under `-j 2` as well."""
    for number, (code, claims, _) in enumerate(BROKEN_CLAIMS):
        code = f"SCORES, SHAPE = {SCORES!r}, {SHAPE!r}\n{code}"
        book.page(f"page{number}", f"# Page {number}\n\n" + cell(claims, code))
    builds = [book.build(), book.build(), book.build(jobs=2), book.build(jobs=2, html_title="new")]
    for build in builds:
        assert build.status == 1
        for number, (code, _, message) in enumerate(BROKEN_CLAIMS):
            found = rf"page{number}\.md:8: .*{message}"
            assert any(re.search(found, line) for line in build.warnings), code
    assert len({tuple(sorted(build.warnings)) for build in builds}) == 1


def test_a_difference_shows_index_printed_got_and_delta(book) -> None:
    claim_scores(book, "print('tensor([0.9544, 1.4850])')")
    build = book.build()
    rows = [line.split()[:4] for line in build.warnings]
    assert ["[1]", "1.4950", "1.4850", "-1.00e-02"] in rows
    assert "1 of 2 source outputs verified" in build.said


def test_exact_values_decide_where_they_are_known(book) -> None:
    def code(last: float) -> str:
        shown = "tensor([0.9544, 1.4951])"
        values = [{"text": shown, "values": [0.9544, last]}]
        return f"printed_values = {values!r}\nprint({shown!r})"

    claim_scores(book, code(1.49505001))
    assert book.build().status == 0
    claim_scores(book, code(1.49506))
    assert book.build().status == 1


def test_the_device_that_ran_the_page_sets_the_tolerance(book) -> None:
    shown = "tensor([0.9544, 1.4951])"
    values = [{"text": shown, "values": [0.9544, 1.495054]}]
    code = f"printed_values = {values!r}\nprint({shown!r})\n"
    claim_scores(book, code)
    assert book.build().status == 1
    device = "executed_with = {'device': 'cuda', 'python': '3.11'}"
    claim_scores(book, code + device)
    assert book.build().status == 0


def test_an_entry_that_no_cell_claims_fails_every_build(book) -> None:
    line = book.folder.joinpath("sources.toml").read_text().splitlines().index('id = "scores"') + 1
    for jobs in (1, 1, 2):
        build = book.build(jobs=jobs)
        (warning,) = build.warnings
        assert f"sources.toml:{line}: " in warning
        assert "output 'scores' is claimed by no cell" in warning
        assert "1 of 2 source outputs verified" in build.said


def test_removing_a_page_removes_its_claims(book) -> None:
    claim_scores(book)
    assert book.build().status == 0
    (book.folder / "page.md").unlink()
    assert any("'scores' is claimed by no cell" in line for line in book.build().warnings)


def test_a_change_of_the_ledger_alone_is_noticed_and_mended(book) -> None:
    claim_scores(book)
    assert book.build().status == 0
    book.write("sources.toml", GOOD.replace("0.9544", "0.9545"))
    for _ in range(2):
        build = book.build()
        assert build.status == 1
        assert any("seal" in line for line in build.warnings)
    assert "Not as printed in source 000" in build.html("page")
    book.write("sources.toml", GOOD)
    build = book.build()
    assert build.status == 0
    assert "Not as printed" not in build.html("page")


def test_a_page_that_ended_early_is_reported_once(book, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failing cell is reported by `execution`; the cells after it need no message each."""
    code = "print('tensor([0.9544, 1.4850])')"
    book.page("page", "# Page\n\n" + cell("scores", "pass") + cell("scores", code))
    monkeypatch.setattr("executable_book.check.source_ledger.failed_pages", lambda env: {"page"})
    build = book.build()
    assert "page.md:13: " in build.warnings[0]
    assert not any("nothing that is a value" in line for line in build.warnings)
    assert "1 of 2 source outputs verified" in build.said


# For readers


def test_cell_and_entry_are_linked_both_ways(book) -> None:
    claim_scores(book)
    build = book.build()
    assert 'id="reproduces-scores"' in build.html("page")
    assert 'href="sources.html#source-output-scores"' in build.html("page")
    page = build.html("sources")
    assert 'id="source-output-scores"' in page
    assert re.search(
        r'Verified on this build, reproduced in <a [^>]*href="page.html#reproduces-scores"', page
    )
    assert "Source 000 (blog post), line 54: Scores" in page
    foot = build.html("page").partition('<p class="page-foot">')[2].partition("</p>")[0]
    assert re.search(
        r'href="sources.html"><span>\d source outputs? verified</span></a> on this', foot
    )
    assert "2 of 2 source outputs verified" in page


def test_two_claims_of_one_entry_on_one_page_have_their_own_anchors(book) -> None:
    code = f"print('{SCORES}')"
    book.page("page", "# Page\n\n" + cell("scores", code) + "\n" + cell("scores", code))
    page = book.build().html("sources")
    assert 'href="page.html#reproduces-scores"' in page
    assert 'href="page.html#reproduces-scores--2"><span>Page (2)</span>' in page


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_ledgers_page_follows_when_only_another_page_changed(book, jobs: int) -> None:
    claim_scores(book)
    assert "Not verified" not in book.build(jobs=jobs).html("sources")
    claim_scores(book, "print('tensor([0.9544, 1.4850])')")
    build = book.build(jobs=jobs)
    assert "Not verified on this build, reproduced in" in build.html("sources")
    assert "1 of 2 source outputs verified" in build.html("sources")
    claim_scores(book)
    assert "Not verified" not in book.build(jobs=jobs).html("sources")


def test_versions_and_names_are_no_numbers(book) -> None:
    claim_scores(book, f"print('GPT-3.5, torch 2.13.0:', {SCORES!r})")
    assert book.build().warnings == []


def test_nothing_is_written_when_nothing_changed(book) -> None:
    claim_scores(book)
    book.build()
    assert book.build().written == []
