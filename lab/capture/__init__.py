"""Slices of topics: which records are read, and what of them is written down."""
