"""Audit: which records of a topic are in an index, for pipelines of any maker; and the story of one record."""
