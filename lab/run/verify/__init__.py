"""Verification: what is stored is compared with what was produced, and the books are closed."""
