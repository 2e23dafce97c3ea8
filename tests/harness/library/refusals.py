"""What is refused, in tables: a few words of the message, what is called, and the error, if no ValueError."""

import re

import pytest


def refusals(*rows):
    """Make a test of each row."""

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize("row", rows, ids=lambda row: row[0])
    def refused(row) -> None:
        words, call, error = (*row, ValueError)[:3]
        with pytest.raises(error, match=re.escape(words)):
            call()

    return refused
