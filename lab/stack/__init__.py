"""The servers of the pipeline: fetched, started, found again and stopped."""
