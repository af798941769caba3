"""Measurements beside the peers. They never decide a test: `make bench` prints a table and the ratios in it."""
