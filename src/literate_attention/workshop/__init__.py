"""The path from an empty file to a model that speaks through a reader's own code.

The same is done by ``python -m literate_attention`` and the name of a function. A verdict comes by
`checking`, `_process` and, in a process of its own, `_worker`, `pieces` and `judge`.
"""

from literate_attention.workshop.checking import Checked, Result, check, hint
from literate_attention.workshop.stubs import start
from literate_attention.workshop.talking import talk

__all__ = ["Checked", "Result", "check", "hint", "start", "talk"]
