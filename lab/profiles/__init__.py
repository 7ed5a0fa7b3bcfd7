"""Profiles: what one run does, read from YAML, checked, with every default filled in."""

from lab.profiles.loader import ListEntry, effective, list_profiles, load_profile, override, profile_names
from lab.profiles.models import Dataset, Direct, Producer, Profile, QueryOnly, Rally, Sink

__all__ = [
    "Dataset",
    "Direct",
    "ListEntry",
    "Producer",
    "Profile",
    "QueryOnly",
    "Rally",
    "Sink",
    "effective",
    "list_profiles",
    "load_profile",
    "override",
    "profile_names",
]
