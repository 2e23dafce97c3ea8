"""The comparison of a ring with one process, as a command.

It is started with as many processes as you like::

    torchrun --nproc-per-node 4 -m literate_attention.models.ring_command
"""

from collections.abc import Sequence

from literate_attention.models.ring_comparison import compare_ring


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the comparison finds."""
    for line in compare_ring(arguments):
        print(line)


if __name__ == "__main__":
    main()
