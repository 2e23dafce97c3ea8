"""The oldest sieve."""

__all__ = ["primes_below"]


def primes_below(end: int) -> list[int]:
    """Return the primes below a number."""
    candidates = [*range(2, end)]
    found = []
    while candidates:
        first, *others = candidates
        found.append(first)
        candidates = [number for number in others if number % first]
    return found
