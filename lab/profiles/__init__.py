"""Profiles: what one run does, read from YAML, checked, with every default filled in."""

from lab.profiles.listing import Listed
from lab.profiles.loader import (
    EffectiveValue,
    effective,
    list_profiles,
    load_profile,
    override,
    profile_names,
)
from lab.profiles.models import (
    Dataset,
    Direct,
    Drain,
    Elasticsearch,
    Load,
    Producer,
    Profile,
    Queries,
    Sampling,
    Sink,
    Stream,
    Topic,
    Verify,
)

__all__ = [
    "Dataset",
    "Direct",
    "Drain",
    "EffectiveValue",
    "Elasticsearch",
    "Listed",
    "Load",
    "Producer",
    "Profile",
    "Queries",
    "Sampling",
    "Sink",
    "Stream",
    "Topic",
    "Verify",
    "effective",
    "list_profiles",
    "load_profile",
    "override",
    "profile_names",
]
