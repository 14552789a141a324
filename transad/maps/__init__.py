"""Loops over data as kernels: `map`, comprehensions, sums and `prange`, forwards and backwards."""
