"""Races: suites that a command line states, by settings of a profile with several values each."""

import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import yaml
from pydantic import JsonValue

from lab.engines import Release
from lab.errors import ProfileError
from lab.profiles.files import REPOSITORY
from lab.profiles.loader import load_profile, override
from lab.profiles.located import Located
from lab.profiles.models import Profile
from lab.profiles.problems import Place
from lab.profiles.suites import Expansion, Suite, SuiteFile, cell_name

OF_LOADS = ["cpu_s_per_million_docs/elasticsearch", "indexing_rate_docs_per_s/primaries"]
OF_QUERIES = ["query_service_time_ms_mean/run", "query_rate_per_s/run", "query_cpu_ms/elasticsearch"]
OF_REHEARSALS = [OF_LOADS[0], "end_to_end_latency_ms_p99/run", "lag_records_max/run", "store_size_bytes/primaries"]
"""At a pace the rate is that of the slice."""
REHEARSALS = 3
"""Blocks: the fewest that a verdict needs."""
RACE_MINUTES, RACE_WINDOW_S, RACE_DOCUMENTS = 10.0, 10.0, 60_000
"""What a comparison takes that somebody asks for at the command line."""


def ad_hoc_suite(profile: str, settings: Sequence[str], root: Path = REPOSITORY) -> Suite:
    """The suite that compares some values of a profile's settings: each combination, against that of the first ones.

    Args:
        settings: `dotted.key=value,value`; one with a single value is set for all variants.

    Raises:
        ProfileError: No setting has several values, or every problem of the profile.
    """
    stated = {key: values.split(",") for key, _, values in (text.partition("=") for text in settings)}
    factors = {key: [_level(text) for text in values] for key, values in stated.items() if len(values) > 1}
    if not factors:
        raise ProfileError(
            "--set: got no setting with several values, expected one, such as sink.config.batch.size=2000,500,5000"
        )
    fixed = tuple(text for text in settings if text.partition("=")[0] not in factors)
    for key, levels in factors.items():
        for level in levels:
            load_profile(profile, overrides=(*fixed, override(key, level)), root=root)
    values = {key: levels[0] for key, levels in factors.items()}
    first = load_profile(
        profile, overrides=(*fixed, *(override(key, value) for key, value in values.items())), root=root
    )
    file = SuiteFile.model_validate(
        {
            "question": f"What does {' and '.join(factors)} change in {profile}?",
            "control": cell_name(values),
            "grid": {"profile": profile, "factors": factors},
            "set": _size_of_warm_ups(first, settings),
            "minutes": RACE_MINUTES,
            "window_s": RACE_WINDOW_S,
            "metrics": _metrics(first, factors),
        }
    )
    return Expansion(file, Located({}, Place("--set", None)), root, fixed).suite(f"race-{profile.replace('/', '-')}")


def rehearsal(
    name: str, releases: Sequence[Release], settings: Sequence[str], *, minutes: float | None, root: Path = REPOSITORY
) -> Suite:
    """The suite that loads a slice on several releases, against the first one, with every value of some settings.

    Args:
        settings: `dotted.key=value,value`, all of the profile `file`; that of a section may have commas of its own.
        minutes: Longest time; three blocks without one.

    Raises:
        ProfileError: There is nothing to compare, or every problem of the profile.
    """
    pairs = [text.partition("=") for text in settings]
    stated = {key: [text] if text.startswith(("{", "[")) else text.split(",") for key, _, text in pairs}
    factors = {key: [_level(text) for text in values] for key, values in stated.items() if len(values) > 1}
    fixed = tuple(text for text in settings if text.partition("=")[0] not in factors)
    variants = []
    for release, levels in product(releases, product(*factors.values())):
        values = {release.engine.dotted_key: release.version, **dict(zip(factors, levels, strict=True))}
        named = [str(release), *(f"{key}={level}" for key, level in zip(factors, levels, strict=True))]
        variants.append({"profile": "file", "name": " ".join(named), "set": values})
    if len(variants) < 2:
        raise ProfileError("got one variant, expected two or more, such as --elasticsearch 8.19.21,9.5.3")
    is_paced = any(text.startswith("load.pace=") for text in settings)
    file = SuiteFile.model_validate(
        {
            "question": f"Does {name} load and answer alike on {', '.join(map(str, releases))}?",
            "control": variants[0]["name"],
            "variants": variants,
            **({"repeats": REHEARSALS} if minutes is None else {"minutes": minutes}),
            "metrics": OF_REHEARSALS if is_paced else [*OF_LOADS, OF_REHEARSALS[-1]],
        }
    )
    return Expansion(file, Located({}, Place("--set", None)), root, fixed).suite(f"rehearse-{name}")


def _metrics(profile: Profile, factors: Iterable[str]) -> list[str]:
    """Figures of a race: of settings of the index, its size, too."""
    of_index = any(key == "mapping" or key.startswith("index.") for key in factors)
    return [*OF_LOADS, *(OF_REHEARSALS[-1:] if of_index else [])] if profile.load.fills_index else OF_QUERIES


def _size_of_warm_ups(profile: Profile, stated: Sequence[str]) -> dict[str, int]:
    """What makes the drains of a race as small as a warm-up needs; those that count get more documents again.

    Args:
        stated: Settings of the command line, which win.
    """
    if profile.load.mode != "drain" or profile.dataset.name == "file":
        return {}
    sizes = {f"dataset.{count}": getattr(profile.dataset, count) or 0 for count in ("documents", "books")}
    keys = {text.partition("=")[0] for text in stated}
    return {} if keys & sizes.keys() else {key: RACE_DOCUMENTS for key, size in sizes.items() if size > RACE_DOCUMENTS}


def _level(text: str) -> JsonValue:
    """A value as YAML has it; what is no YAML is a text, and so is a date, which JSON does not know."""
    try:
        value: JsonValue = yaml.safe_load(text)
        json.dumps(value)
    except (yaml.YAMLError, TypeError):
        return text
    return value
