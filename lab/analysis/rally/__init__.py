"""Summaries in Rally's words: read, written of our own runs, and laid beside each other."""
