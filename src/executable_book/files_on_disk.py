"""Files and their digests."""

import hashlib
import json
from pathlib import Path


def write_if_changed(path: Path, text: str) -> None:
    """Write a file, unless it says that already."""
    if not path.exists() or path.read_bytes() != text.encode():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_event(path: Path, name: str, detail: object) -> None:
    """Write a script that hands data out: a page that was opened from a disk may load no other file."""
    said = json.dumps(detail, ensure_ascii=False)
    write_if_changed(path, f'dispatchEvent(new CustomEvent("{name}", {{detail: {said}}}));\n')


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(path: Path) -> str | None:
    """Return a digest of a file, or of all files under a folder; None where there is nothing."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    digests = [f"{file.relative_to(path).as_posix()} {digest_of(file)}" for file in files]
    return sha256("\n".join(digests)) if files else None
