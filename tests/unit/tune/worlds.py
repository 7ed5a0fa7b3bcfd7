"""Worlds that a search is held against: nothing to find, effects that add up, hide each other, or fight."""

from dataclasses import replace

from tests.unit.tune.simulated import Bottleneck, World

KNOWN = World(
    {
        "tasks=2": 0.20,
        "tasks=4": 0.12,
        "refresh=30s": 0.12,
        "refresh=5s": 0.05,
        "batch=5000": -0.04,
        "batch=500": -0.15,
        "shards=2": -0.10,
        "shards=4": -0.22,
        "codec=best_compression": -0.12,
        "in_flight=2": -0.05,
        "in_flight=10": 0.0,
        "flush=2gb": 0.0,
        "linger=100": 0.0,
    }
)
FLAT = World(dict.fromkeys(KNOWN.alone, 0.0))
FIGHTING = World(
    {"tasks=2": 0.20, "in_flight=10": 0.18, "refresh=30s": 0.12, "batch=500": -0.1},
    {frozenset({"tasks=2", "in_flight=10"}): -0.35},
)
INTERACTING = replace(
    KNOWN,
    together={
        frozenset({"tasks=2", "batch=5000"}): 0.18,
        frozenset({"tasks=4", "in_flight=10"}): 0.2,
        frozenset({"refresh=30s", "flush=2gb"}): 0.12,
        frozenset({"tasks=2", "refresh=30s"}): -0.08,
        frozenset({"shards=2", "in_flight=2"}): 0.1,
    },
)
LEAP = Bottleneck(
    {
        "mapping=static": 1.6,
        "tasks=2": 0.35,
        "tasks=4": 0.30,
        "refresh=30s": 0.25,
        "refresh=5s": 0.15,
        "batch=5000": 0.25,
        "batch=500": -0.4,
        "shards=2": -0.05,
        "shards=4": -0.2,
        "codec=best_compression": -0.1,
        "in_flight=2": 0.05,
        "in_flight=10": 0.0,
        "flush=2gb": 0.05,
    },
    stage={
        "mapping": "parsing",
        "refresh": "writing",
        "shards": "writing",
        "codec": "writing",
        "flush": "writing",
        "tasks": "sink",
        "batch": "sink",
        "in_flight": "sink",
    },
    shares={"parsing": 0.7, "writing": 0.15, "sink": 0.15},
)
"""As nested books are: a mapping takes two thirds of the time away, and then everything else matters, too."""
MANY = World(
    {f"knob{number}=1": {1: 0.18, 5: 0.25, 9: 0.1, 13: -0.1, 18: 0.06}.get(number, 0.0) for number in range(25)}
)
"""25 knobs, most of which do nothing."""
MANY_FLAT = World(dict.fromkeys(MANY.alone, 0.0))
REFUSED = replace(KNOWN, failing=(frozenset({"linger=100"}),))
QUARRELLING = replace(
    KNOWN, failing=(frozenset({"linger=100"}), frozenset({"in_flight=10"}), frozenset({"tasks=2", "refresh=30s"}))
)
"""Servers refuse two settings, and two others beside each other."""
SLOW = World({**{f"knob{number}=1": 0.0 for number in range(8)}, "a=1": -1.0, "b=1": -1.2, "c=1": -0.8, "d=1": 0.2})
"""Some settings make runs two or three times as long."""
