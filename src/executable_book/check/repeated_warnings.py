"""Facts that pages leave behind, and what is found wrong with them, said again at every build.

Sphinx does not read an unchanged page twice, and skips its consistency check when nothing changed:
a warning given while reading is heard once, and the second build of a broken book passes. So a
check here works in two steps. While a page is read it *keeps* facts about it, in the environment,
which forgets them with the page and merges them from parallel readers. At the end of every build
it *judges* all facts of all pages anew, and each finding becomes a warning (an error under `-W`).

A check calls `judge(app, its_name, function)` in its `setup`, and `keep(env, its_name, ...)` as it
reads. What is judged must not depend on which pages were read in this build.

Warnings of others (an unknown role, a dead reference) are said again in another way: a build that
follows one with such warnings reads and writes all pages.
"""

from __future__ import annotations

import hashlib
import logging as stdlib_logging
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KIND = "literate"
Facts: TypeAlias = dict[str, dict[str, Any]]


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: the page or file, the line (0: all of it), and what to say."""

    where: str
    line: int
    message: str


Judge: TypeAlias = Callable[[Sphinx], Iterable[Finding]]


def keep(env: BuildEnvironment, check: str, docname: str, fact: Any) -> None:
    """Remember what a check learnt about a page, until the page is read again."""
    _facts(env).setdefault(check, {})[docname] = fact


def kept(env: BuildEnvironment, check: str) -> dict[str, Any]:
    """Return what a check learnt about each page, in the order of their names."""
    return dict(sorted(_facts(env).get(check, {}).items()))


def judge(app: Sphinx, check: str, function: Judge) -> None:
    """Have a check's findings reported as warnings of type `literate` at the end of every build."""
    app.setup_extension(__name__)
    _judged.add(f"{KIND}.{check}")

    def report(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            for one in sorted(set(function(app))):
                LOGGER.warning(one.message, location=_place(app.env, one), type=KIND, subtype=check)

    app.connect("build-finished", report)


_judged: set[str] = set()
"""The kinds of warning that are given again by every build."""


def _place(env: BuildEnvironment, one: Finding) -> str:
    path = str(env.doc2path(one.where)) if one.where in env.found_docs else one.where
    # Without a line, Sphinx would take the path for the name of a page.
    return f"{path}:{one.line or 1}"


def _facts(env: BuildEnvironment) -> Facts:
    if not hasattr(env, "literate_facts"):
        env.literate_facts = {}  # type: ignore[attr-defined]
    facts: Facts = env.literate_facts  # type: ignore[attr-defined]
    return facts


def _forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    for pages in _facts(env).values():
        pages.pop(docname, None)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
    for check, pages in _facts(other).items():
        for docname in docnames & pages.keys():
            keep(env, check, docname, pages[docname])


class _Counter(stdlib_logging.Handler):
    """Counts the warnings that nobody judges again."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__(stdlib_logging.WARNING)
        self.app = app
        self.count = 0

    def emit(self, record: stdlib_logging.LogRecord) -> None:
        """Count one warning."""
        kind, subtype = getattr(record, "type", ""), getattr(record, "subtype", "")
        suppressed = [*self.app.config.suppress_warnings, *_judged]
        self.count += not logging.is_suppressed_warning(kind, subtype, suppressed)

    def remember(self, app: Sphinx, exception: Exception | None) -> None:
        """Leave a mark for the next build if there was a warning."""
        if exception is None:
            if self.count:
                _mark(app).touch()
            else:
                _mark(app).unlink(missing_ok=True)


def _start_afresh(app: Sphinx, config: Config) -> None:
    """Forget all pages if the last build ended with warnings."""
    if _mark(app).exists():
        (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def _mark(app: Sphinx) -> Path:
    return Path(app.doctreedir) / ".warned"


def _digest_of_checks() -> str:
    """Return a digest of all extensions: facts that an older check kept are no facts."""
    files = sorted(path for path in Path(__file__).parents[1].rglob("*.py") if path.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def setup(app: Sphinx) -> dict[str, Any]:
    """Let facts come and go with their pages."""
    app.add_config_value("literate_checks", _digest_of_checks(), "env", types=[str])
    counter = _Counter(app)
    stdlib_logging.getLogger(logging.NAMESPACE).addHandler(counter)
    app.connect("config-inited", _start_afresh)
    app.connect("build-finished", counter.remember, priority=999)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    return {
        "version": "1",
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
