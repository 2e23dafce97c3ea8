"""All that the tool chain is told of this book, which teaches a library of its own and needs no torch."""

project = "Little Numbers"
extensions = ["executable_book"]
html_theme = "alabaster"
nb_execution_mode = "cache"
exclude_patterns = ["_build"]

book_package = "../src/little_numbers"
book_taught = ["sieves"]
book_ledger = "ledger.toml"
book_depends = ["../src"]
book_variables = ["LITTLE_DEVICE"]
book_kernel_preload = ["fractions"]
book_repository = "https://example.org/little/numbers"
