"""A drawing of several frames is a picture for each of them in an e-book."""

from executable_book.publish.step_figures import draw_frames, split_frames

CELL = """<div class="cell tag_hide-input tag_steps-2 docutils container">
<pre>code</pre>
<figure><img alt="First, then second." src="../_images/a.svg" /><figcaption></figcaption></figure></div>
<img alt="Another." src="../_images/b.svg" />
"""
DRAWING = '<?xml version="1.0"?>\n<svg width="15pt" height="40pt" viewBox="1 0 30 80"><svg height="3"/></svg>'


def test_each_frame_is_a_picture_and_the_first_says_what_is_seen() -> None:
    page = split_frames(CELL)
    first = '<img alt="First, then second." src="../_images/a.frame-1-of-2.svg" />'
    second = '<img alt="" src="../_images/a.frame-2-of-2.svg" />'
    assert f"<figure>{first}\n{second}<figcaption>" in page
    assert page.count("<img") == 3
    assert '<img alt="Another." src="../_images/b.svg" />' in page
    assert split_frames(page.replace("tag_steps-2", "tag_other")) == page.replace(
        "tag_steps-2", "tag_other"
    )


def test_frames_are_drawn_of_the_whole_and_stay_when_it_is_gone(tmp_path) -> None:
    whole = tmp_path / "a.svg"
    whole.write_text(DRAWING, encoding="utf-8")
    frames = [tmp_path / f"a.frame-{number}-of-2.svg" for number in (1, 2)]
    for _ in range(2):
        draw_frames(split_frames(CELL), tmp_path)
        texts = [frame.read_text(encoding="utf-8") for frame in frames]
        assert [text.partition("<svg")[2].partition(">")[0] for text in texts] == [
            ' width="15pt" height="20pt" viewBox="1 0 30 40"',
            ' width="15pt" height="20pt" viewBox="1 40 30 40"',
        ]
        assert all(text.endswith('<svg height="3"/></svg>') for text in texts)
        whole.unlink(missing_ok=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [frame.name for frame in frames]
