"""Git in throwaway repositories, whoever runs the tests, and whether or not they sign what they commit."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=a tester", "-c", "user.email=tester@example.org")
UNSIGNED = ("-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")


def git(folder: Path, *command: str) -> str:
    """Run git in a folder, and return what it prints."""
    ran = subprocess.run(
        ["git", *IDENTITY, *UNSIGNED, *command],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip()
