"""Facts come and go with their pages, and outlive a build."""

from types import SimpleNamespace

from executable_book.environment_facts import forget, keep, keep_of_book, kept, kept_of_book, merge


def test_a_fact_is_kept_until_its_page_is_read_again() -> None:
    env = SimpleNamespace()
    keep(env, "numbers", "b", 2)
    keep(env, "numbers", "a", 1)
    keep(env, "names", "a", "x")
    assert list(kept(env, "numbers").items()) == [("a", 1), ("b", 2)]
    forget(None, env, "a")
    assert kept(env, "numbers") == {"b": 2}
    assert kept(env, "names") == kept(env, "never heard of") == {}


def test_what_parallel_readers_learnt_is_merged_for_their_pages_alone() -> None:
    env, other = SimpleNamespace(), SimpleNamespace()
    keep(env, "numbers", "a", 1)
    keep(other, "numbers", "a", 10)
    keep(other, "numbers", "b", 20)
    merge(None, env, {"b"}, other)
    assert kept(env, "numbers") == {"a": 1, "b": 20}


def test_a_fact_of_the_book_tells_what_was_before() -> None:
    env = SimpleNamespace()
    assert kept_of_book(env, "total") is None
    assert keep_of_book(env, "total", 1) is None
    assert keep_of_book(env, "total", 2) == 1
    assert kept_of_book(env, "total") == 2
