"""What leaves the house is made by locked tools alone, where nothing else has run, and checked before."""

import re

import pytest
import yaml
from harness.paths import ROOT

NOX = (ROOT / "noxfile.py").read_text(encoding="utf-8")
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"] for path in FILES}
RELEASE = JOBS["release"]


def said(job):
    """Return all that a job does, as one text."""
    return yaml.dump(RELEASE[job].get("steps"), width=1000)


def session(name):
    return NOX.partition(f"def {name}(")[2].partition("@nox.session")[0]


def test_tools_come_from_locks_with_hashes() -> None:
    installed = re.findall(
        r"pip install.*", yaml.dump(JOBS, width=1000) + (ROOT / ".ci" / "run").read_text()
    )
    assert installed
    assert all("--require-hashes" in one for one in installed), installed
    assert "--require-hashes" in session("release")
    assert session("release").count(".install(") == 1
    assert '"build", "--no-isolation"' in session("release")
    (install,) = re.findall(r"^def install\(.*?^def", NOX, re.DOTALL | re.MULTILINE)
    assert "LOCK_ALONE" in install


def test_what_has_installed_more_cannot_change_the_packages() -> None:
    for job in RELEASE:
        writes = "upload-artifact" in said(job) and "packages" in said(job)
        assert writes == (job == "packages")
    assert re.findall(r"nox -s (\w+)", said("packages")) == ["release"]


@pytest.mark.parametrize("job", ["pypi", "page"])
def test_nothing_is_published_that_was_not_checked(job) -> None:
    asked, known = [job], set()
    while asked:
        known.add(one := asked.pop())
        needs = RELEASE[one].get("needs", [])
        asked += [needs] if isinstance(needs, str) else needs
    assert {"checked", "try", "editions", "packages"} <= known
    assert "--workflow check.yml" in said("checked")


def test_all_that_is_published_is_attested() -> None:
    page = said("page")
    assert page.index("pattern: '{packages,editions}'") < page.index("attest-build-provenance")
    assert page.index("subject-path: dist/*") < page.index("gh release create")
