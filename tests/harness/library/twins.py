"""Wrong twins of code, which a comparison has to notice."""

import inspect
import textwrap
from contextlib import nullcontext

import pytest


def twin(original, before, after, **names):
    """Return what the names of a module are if the source of one of them is another in one place."""
    source = textwrap.dedent(inspect.getsource(original))
    assert before in source
    names = vars(inspect.getmodule(original)) | names
    exec(source.replace(before, after), names)
    return names


def noticed(change):
    """Expect that numbers are not close, if there is a change."""
    return pytest.raises(AssertionError, match="not close") if change else nullcontext()
