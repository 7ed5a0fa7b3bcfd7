"""The index settings that an engine knows, by version."""

import re
from dataclasses import dataclass
from functools import cache

from lab.engines import DEFAULT, Engine, Release, Version, parsed_version
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


def codec_complaint(codec: object, release: Release, *, plugins: bool = True) -> str | None:
    """Why an index cannot have this codec on this release; `None` when it can, or may.

    Args:
        plugins: Whether the server may have plugins.
    """
    if release.engine.has_codec(str(codec), release.numbers, plugins=plugins):
        return None
    return f'got "{codec}", which {release} does not have, expected {_VALUES["codec"][1]}'


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
