"""Looks at a running sink connector, its topics and its cluster, and names what limits them; only reads."""
