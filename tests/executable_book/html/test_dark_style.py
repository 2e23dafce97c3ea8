"""Where no script runs, pages are dark as their system is."""

import pytest

from executable_book.html.dark_style import dark_rules


@pytest.mark.parametrize(
    ("css", "dark"),
    [
        ("html[data-theme=dark]{a:b}p{c:d}", "html[data-theme=light]{a:b}"),
        ('html[data-theme="dark"] .c, p{a:b}', "html[data-theme=light] .c, p{a:b}"),
        ("html[data-theme=light]{a:b}.dark{c:d}", ""),
    ],
)
def test_dark_rules_hold_for_a_page_that_says_it_is_light(css, dark) -> None:
    assert dark_rules(css) == dark
