"""Drawings say how large they are, and the parameters of a signature are lines."""

import pytest

SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" {} viewBox="0 0 3 2"/>'


@pytest.mark.parametrize(
    ("size", "attributes"),
    [
        (
            'width="300pt" height="150.4pt"',
            '<img alt="a dot" height="201" src="_images/dot.svg" width="400" />\n<figcaption>',
        ),
        ('width="100%" height="100%"', '<img alt="a dot" src="_images/dot.svg" />'),
    ],
)
def test_a_drawing_has_the_size_of_its_file(size, attributes, new_book) -> None:
    book = new_book(html_scaled_image_link=False)
    book.write("dot.svg", SVG.format(size))
    book.write("page.md", "# Page\n\n```{figure} dot.svg\n:alt: a dot\n\nA dot.\n```\n")
    assert attributes in book.build().html("page")


def test_parameters_of_a_signature_are_lines(new_book) -> None:
    book = new_book(python_maximum_signature_line_length=10)
    book.write(
        "page.md",
        "# Page\n\n```{eval-rst}\n.. py:function:: deep.act(one, two)\n\n   It acts.\n```\n",
    )
    signature = book.build().html("page").partition("<dt")[2].partition("</dt>")[0]
    assert signature.count('<span class="sig-line">') == 2
    assert "deep.<wbr />" in signature
    assert 'class="pre"' not in signature
    assert "<dl>" not in signature
    assert "<dd>" not in signature


def test_an_entry_of_a_bibliography_has_no_role_that_is_out_of_use(new_book) -> None:
    book = new_book()
    book.write("page.md", "# Page\n\n```{eval-rst}\n.. [one] A paper.\n\nSee [one]_.\n```\n")
    page = book.build().html("page")
    assert '<div class="citation" id="one" role="listitem">' in page
    assert "doc-biblioentry" not in page
