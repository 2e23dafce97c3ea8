"""The site, which has to be built first: `nox -s proof` and `nox -s check` do so."""

import pytest
from harness.paths import DOCS


@pytest.fixture(scope="session")
def site():
    """Return the folder of the site."""
    folder = DOCS / "_build/html"
    assert folder.exists(), "build the book first: nox -s docs"
    return folder
