"""Ways to find primes."""
