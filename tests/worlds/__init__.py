"""Worlds whose truth is known, which the whole program is held against."""
