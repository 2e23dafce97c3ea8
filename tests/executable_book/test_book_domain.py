"""Data come and go with their pages, and outlive a build."""

from types import SimpleNamespace

from executable_book.book_domain import (
    BookDomain,
    book_data,
    page_data,
    replace_book_data,
    set_page_data,
)


def new_domain() -> BookDomain:
    return BookDomain(SimpleNamespace(domaindata={}))


def test_data_of_a_page_stay_until_it_is_read_again() -> None:
    domain = new_domain()
    set_page_data(domain.env, "numbers", "b", 2)
    set_page_data(domain.env, "numbers", "a", 1)
    set_page_data(domain.env, "names", "a", "x")
    assert list(page_data(domain.env, "numbers").items()) == [("a", 1), ("b", 2)]
    domain.clear_doc("a")
    assert page_data(domain.env, "numbers") == {"b": 2}
    assert page_data(domain.env, "names") == page_data(domain.env, "never heard of") == {}


def test_data_from_parallel_readers_are_merged_for_their_pages_alone() -> None:
    domain, other = new_domain(), new_domain()
    set_page_data(domain.env, "numbers", "a", 1)
    set_page_data(other.env, "numbers", "a", 10)
    set_page_data(other.env, "numbers", "b", 20)
    domain.merge_domaindata({"b"}, other.data)
    assert page_data(domain.env, "numbers") == {"a": 1, "b": 20}


def test_data_of_the_book_tell_what_was_before() -> None:
    env = new_domain().env
    assert book_data(env, "total") is None
    assert replace_book_data(env, "total", 1) is None
    assert replace_book_data(env, "total", 2) == 1
    assert book_data(env, "total") == 2
