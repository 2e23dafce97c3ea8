"""The library in the book: listings, links, the reference."""
