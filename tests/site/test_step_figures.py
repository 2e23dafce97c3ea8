"""A figure to step through: by mouse, by keyboard, whole without a script. The book has to be built first."""

import pytest
from harness.reading.visits import LAID_OUT, add_style, emulate_print

pytestmark = pytest.mark.browser

CHAPTER = "story/simple_attention.html"
FIGURE = "[class*='tag_steps-']"


def seen(page):
    """Return where the visible frame begins, and how high it is, as parts of the picture."""
    first, height = page.evaluate(
        """figure => {
            const frame = document.querySelector(`${figure} .frame`).getBoundingClientRect();
            const picture = document.querySelector(`${figure} img`).getBoundingClientRect();
            return [(frame.top - picture.top) / picture.height, frame.height / picture.height];
        }""",
        FIGURE,
    )
    return round(first, 2), round(height, 2)


def test_one_frame_is_seen_at_a_time_and_on_paper_all(opened) -> None:
    with opened(CHAPTER, reduced_motion="reduce") as visit:
        page = visit.page
        add_style(page, LAID_OUT)
        said = page.locator(f"{FIGURE} output")
        assert (said.inner_text(), seen(page)) == ("Step 1 of 4", (0.0, 0.25))
        page.get_by_role("button", name="Next").click()
        assert (said.inner_text(), seen(page)) == ("Step 2 of 4", (0.25, 0.25))
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert (said.inner_text(), seen(page)) == ("Step 4 of 4", (0.75, 0.25))
        assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
        page.keyboard.press("ArrowLeft")
        assert (said.inner_text(), seen(page)) == ("Step 3 of 4", (0.5, 0.25))
        emulate_print(page)
        assert seen(page) == (0.0, 1.0)
        assert not page.locator(".step-controls").is_visible()


def test_without_a_script_all_frames_are_seen(opened) -> None:
    with opened(CHAPTER, java_script_enabled=False) as visit:
        box = visit.page.locator(f"{FIGURE} img").bounding_box()
        assert box is not None
        assert box["height"] > 2 * box["width"]
