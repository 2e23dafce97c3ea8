"""Imported first: what lies in the folder where ``python -m literate_attention`` is called takes no part."""

import sys

if sys.argv[:1] == ["-m"] and "literate_attention" in sys.orig_argv and not sys.flags.safe_path:
    del sys.path[0]
