"""The path from an empty file to a model that speaks through a reader's own code."""

from literate_attention.workshop.checking import Checked, check
from literate_attention.workshop.stubs import Started, start
from literate_attention.workshop.talking import talk

__all__ = ["Checked", "Started", "check", "start", "talk"]
