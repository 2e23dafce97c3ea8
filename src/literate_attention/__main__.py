"""The command line: write the book's code yourself, and let a real model speak with it."""

import argparse
import codecs
import io
import os
import sys
from collections.abc import Sequence

from literate_attention.workshop import checking, stubs, talking
from literate_attention.workshop._chapters import WorkshopError

COMMANDS = {
    "start": (stubs, "make a folder with files in which you write the book's code"),
    "check": (checking, "judge what you have written"),
    "talk": (talking, "let a real model speak with what you have written"),
}
"""Each command, the module that adds its arguments and runs it, and what it is for."""

PLAIN_MARKS = {"✓": "+", "✗": "x", "·": "."}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m literate_attention", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    codecs.register_error("plain", plain_mark)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in COMMANDS:
        parser.parse_args(given)  # it helps, or refuses
    command = commands.choices[given[0]]
    options, unknown = command.parse_known_intermixed_args(given[1:])
    if unknown:
        are_words = not any(one.startswith("-") for one in unknown)
        quotes = "; what has blanks in it needs quotes" if are_words else ""
        command.error(f"cannot use {' '.join(unknown)}{quotes}")
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read has seen enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except WorkshopError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def plain_mark(error: UnicodeError) -> tuple[str, int]:
    """Replace a sign that a terminal cannot show."""
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    return "".join(PLAIN_MARKS.get(sign, "?") for sign in signs), error.end


if __name__ == "__main__":
    sys.exit(main())
