"""Questions that are put to a verified index, and their right answers."""
