"""What is seen of a page when it has been drawn: some of what follows a change comes with the next frame."""

DRAWN = """() => new Promise(
    done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
BOXES = """all => all.map(one => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return { x, y, width, height };
})"""


def drawn(page) -> None:
    """Wait until a page has been drawn as it is now, so that observers and anchored places have moved."""
    page.evaluate(DRAWN)


def boxes(*elements):
    """Return where elements are, at one and the same moment, when the page has been drawn."""
    page = elements[0].page
    drawn(page)
    found: list[dict[str, float]] = page.evaluate(
        BOXES, [element.element_handle() for element in elements]
    )
    return found
