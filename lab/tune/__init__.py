"""Searches a space for the settings that a profile's own documents want, by suites on warm servers."""
