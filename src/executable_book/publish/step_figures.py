"""A drawing of several frames, one below the other, becomes a picture for each where nobody can step through.

A cell says how many frames there are, as in `tags: [steps-4]`. On the site a script shows one at a time.
"""

import re
from pathlib import Path

IMAGE = re.compile(r'(<div class="[^"]*\btag_steps-(\d+)\b(?:(?!<img).)*)(<img [^>]*>)', re.DOTALL)
SOURCE = re.compile(r'(?<= src=")([^"]+)\.svg(?=")')
ALT = re.compile(r'(?<= alt=")[^"]*(?=")')
FRAME = re.compile(r"/((?:[^/\"]+)\.frame-(\d+)-of-(\d+)\.svg)(?=\")")
OPENING = re.compile(r"<svg\b[^>]*>")
HEIGHT = re.compile(r'(?<= height=")([\d.]+)')
VIEW = re.compile(r'(?<= viewBox=")([-\d.]+) ([-\d.]+) ([\d.]+) ([\d.]+)(?=")')


def split_frames(body: str) -> str:
    """Return a page on which each frame of a drawing is a picture; the first says what all of them show."""

    def pictures(found: re.Match[str]) -> str:
        before, count, image = found[1], int(found[2]), found[3]
        frames = (
            SOURCE.sub(rf"\1.frame-{number}-of-{count}.svg", image)
            for number in range(1, count + 1)
        )
        first, *others = frames
        return before + "\n".join((first, *(ALT.sub("", one) for one in others)))

    return IMAGE.sub(pictures, body)


def draw_frames(pages: str, folder: Path) -> list[Path]:
    """Draw the frames that pages show; those of an earlier build may have lost the drawing they are of."""
    drawn = []
    for name, number, count in set(FRAME.findall(pages)):
        whole = folder / re.sub(r"\.frame-\d+-of-\d+(?=\.svg$)", "", name)
        if whole.exists():
            drawing = whole.read_text(encoding="utf-8")
            opening = OPENING.search(drawing)
            assert opening, f"{whole.name} is no drawing"
            frame = framed(opening[0], int(number), int(count))
            text = f"{drawing[: opening.start()]}{frame}{drawing[opening.end() :]}"
            (folder / name).write_text(text, encoding="utf-8")
            drawn.append(folder / name)
    return drawn


def framed(opening: str, number: int, count: int) -> str:
    """Return the first tag of a drawing, opened on one of its frames alone."""
    opening = HEIGHT.sub(lambda height: f"{float(height[1]) / count:g}", opening)

    def view(found: re.Match[str]) -> str:
        left, top, width, height = map(float, found.groups())
        return f"{left:g} {top + height / count * (number - 1):g} {width:g} {height / count:g}"

    return VIEW.sub(view, opening)
