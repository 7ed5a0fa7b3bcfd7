"""The index settings that an engine knows, by version."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from lab.engines import DEFAULT, Engine, Release, Version, parsed_version
from lab.errors import ProfileError
from lab.profiles.problems import nearest

_TIME = r"\d+ *((?i:nanos|micros|ms|s|h|d)|m)|-0*1|0+"
_ENABLED = r"(?i:all|none|primaries|{})"
_VALUES = {
    # Lucene's own codecs go by their names, which begin with a capital; OpenSearch has some more.
    "codec": (
        r"default|best_compression|(legacy|lucene)_\w+|lz4|zlib|zstd\w*|qat_\w+|[A-Z]\w*",
        "`default` or `best_compression`",
    ),
    "number_of_replicas": (r"[0-9]+", "a whole number from 0 on"),
    "number_of_shards": (r"[1-9][0-9]*", "a whole number from 1 on"),
    "refresh_interval": (_TIME, "a time with its unit, such as `5s`, or -1"),
    "routing.allocation.enable": (_ENABLED.format("new_primaries"), "`all`, `primaries`, `new_primaries` or `none`"),
    "routing.rebalance.enable": (_ENABLED.format("replicas"), "`all`, `primaries`, `replicas` or `none`"),
    "translog.durability": (r"(?i:request|async)", "`request` or `async`"),
    "translog.sync_interval": (_TIME, "a time with its unit, such as `5s`"),
}
"""What every release takes as the value of a setting, and how to say so; only settings of which that is certain."""

_UNITS_S: Final = {"nanos": 1e-9, "micros": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
DEFAULT_REFRESH_INTERVAL: Final = "1s"


@dataclass(frozen=True)
class KnownSettings:
    """The settings of several releases of an engine, as those releases list them.

    Attributes:
        engine: What they are releases of.
        read_from: The releases that were read, oldest first.
        releases: Name without `index.` → first and last of those releases that have it. A name that ends in a dot
            stands for every setting below it.
    """

    engine: Engine
    read_from: tuple[Version, ...]
    releases: dict[str, tuple[Version, Version]]

    def releases_of(self, name: str) -> tuple[Version, Version] | None:
        """First and last release that has the setting; `None` when none of them has."""
        groups = (group for group in self.releases if group.endswith(".") and name.startswith(group))
        return self.releases.get(name) or self.releases.get(next(groups, ""))

    def complaint(self, name: str, version: Version) -> str | None:
        """Why `name` cannot be set on this version; `None` when it can.

        Between two releases that were read, a setting of either is accepted.
        """
        releases = self.releases_of(name)
        if releases is None:
            match = nearest(name, (other.rstrip(".") for other in self.releases))
            remedy = f"did you mean `{match}`?" if match else f"expected an index setting of {self.engine.title}"
            return f"unknown key, {remedy}"
        first, last = releases
        release = Release(self.engine, _dotted(version))
        if any(version <= read < first for read in self.read_from):
            return f"not an index setting of {release}, expected {_dotted(first)} or newer"
        if any(version >= read > last for read in self.read_from):
            return f"no longer an index setting of {release}, expected {_dotted(last)} or older"
        return None


def expected_value(name: str, value: object) -> str | None:
    """What to expect instead of a value that no release takes; `None` for one that may be taken."""
    pattern, expected = _VALUES.get(name, (".*", ""))
    return None if re.fullmatch(pattern, str(value), re.DOTALL) else expected


def time_s(value: object) -> float:
    """Seconds of a time value of Elasticsearch's, such as `10s` or `500 MS`; -1 and 0, which mean never, as they are.

    Raises:
        ValueError: It is none.
    """
    match = re.fullmatch(r"(-?[\d.]+) *([a-z]*)", str(value).lower())
    if match is None or match[2] not in _UNITS_S:
        raise ValueError(f"got {value}, expected a time such as `5s`")
    return float(match[1]) * _UNITS_S[match[2]]


def refresh_complaint(interval: object) -> str | None:
    """Why no search finds the documents of an index that is refreshed so often; `None` if one does."""
    with contextlib.suppress(ValueError):
        if time_s(interval) <= 0:
            return f"got {interval}, with which no document becomes searchable; expected a time such as 1s"
    return None


def refresh_interval_s(index_settings: Mapping[str, object]) -> float:
    """Seconds after which documents of an index become searchable.

    Args:
        index_settings: Those of the index as a server gives them, with `index.`.

    Raises:
        ProfileError: They never do.
    """
    stated = index_settings.get("index.refresh_interval", DEFAULT_REFRESH_INTERVAL)
    if complaint := refresh_complaint(stated):
        raise ProfileError(f"index.refresh_interval: {complaint} where queries are sent while documents stream")
    return time_s(stated)


def codec_complaint(codec: object, release: Release, *, plugins: bool = True) -> str | None:
    """Why an index cannot have this codec on this release; `None` when it can, or may.

    Args:
        plugins: Whether the server may have plugins.
    """
    if release.engine.has_codec(str(codec), release.numbers, plugins=plugins):
        return None
    return f'got "{codec}", which {release} does not have, expected {_VALUES["codec"][1]}'


def mode_complaint(mode: object, release: Release) -> str | None:
    """Say from which version on an engine has an index mode; `None` if the release has it, or the server must judge."""
    first = release.engine.index_modes.get(str(mode))
    if first is None or release.numbers >= first:
        return None
    return f'got "{mode}", which {release} does not have, expected {_dotted(first)} or newer'


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


@cache
def known_settings(engine: Engine = DEFAULT.engine) -> KnownSettings:
    """The settings of an engine; those that only the server itself may set are not among them."""
    settings = engine.index_settings
    return KnownSettings(
        engine,
        tuple(map(parsed_version, settings.read_from)),
        {name: (parsed_version(first), parsed_version(last)) for name, (first, last) in settings.known.items()},
    )
