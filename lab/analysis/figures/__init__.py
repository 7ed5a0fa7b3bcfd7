"""The figures of one run, computed from its samples."""
