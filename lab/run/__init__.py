"""One run: prepare, fill, load, settle, verify, collect."""
