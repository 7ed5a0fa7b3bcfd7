"""Verification: what is stored is compared with what was produced, and every document is accounted for."""
