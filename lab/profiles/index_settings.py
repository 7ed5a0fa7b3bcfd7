"""The index settings that Elasticsearch and OpenSearch know, by version."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.profiles.problems import nearest

Version = tuple[int, ...]

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

_CODECS_OF_OPENSEARCH = r"default|best_compression|lucene_default|lz4|zlib|[A-Z]\w*"
_CODECS_OF_A_PLUGIN = r"zstd\w*|qat_\w+"
"""Of OpenSearch's, which its minimal distribution lacks."""

_LAST_WITHOUT_LEGACY_CODECS: Version = (7, 17, 99)
"""7.17.7 refuses them; 8.19.21 and 9.5.3 take `legacy_default` and `legacy_best_compression`."""


@dataclass(frozen=True)
class KnownSettings:
    """The settings of several releases of a product, as those releases list them.

    Attributes:
        product: `Elasticsearch` or `OpenSearch`.
        read_from: The releases that were read, oldest first.
        releases: Name without `index.` → first and last of those releases that have it. A name that ends in a dot
            stands for every setting below it.
    """

    product: str
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
            remedy = f"did you mean `{match}`?" if match else f"expected an index setting of {self.product}"
            return f"unknown key, {remedy}"
        first, last = releases
        if any(version <= read < first for read in self.read_from):
            return f"not an index setting of {self.product} {_dotted(version)}, expected {_dotted(first)} or newer"
        if any(version >= read > last for read in self.read_from):
            return f"no longer an index setting of {self.product} {_dotted(version)}, expected {_dotted(last)} or older"
        return None


def expected_value(name: str, value: object) -> str | None:
    """What to expect instead of a value that no release takes; `None` for one that may be taken."""
    pattern, expected = _VALUES.get(name, (".*", ""))
    return None if re.fullmatch(pattern, str(value), re.DOTALL) else expected


def codec_complaint(
    codec: object, version: Version, product: str = "Elasticsearch", *, plugins: bool = True
) -> str | None:
    """Why an index cannot have this codec on this version; `None` when it can, or may.

    Args:
        plugins: Whether OpenSearch may have some.
    """
    if product == "OpenSearch":
        had = f"{_CODECS_OF_OPENSEARCH}|{_CODECS_OF_A_PLUGIN}" if plugins else _CODECS_OF_OPENSEARCH
        is_had = re.fullmatch(had, str(codec)) is not None
    else:
        is_had = not (str(codec).startswith("legacy_") and version <= _LAST_WITHOUT_LEGACY_CODECS)
    if is_had:
        return None
    return f'got "{codec}", which {product} {_dotted(version)} does not have, expected {_VALUES["codec"][1]}'


def parsed_version(text: str) -> Version:
    """`8.19.21` as numbers that compare; of a cluster that is being upgraded, `2.19.1 and 3.0.0`, the oldest.

    Raises:
        ValueError: It is none.
    """
    versions = re.findall(r"\d+(?:\.\d+)+", text)
    if not versions:
        raise ValueError(text)
    return min(tuple(map(int, version.split("."))) for version in versions)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


@cache
def known_settings(product: str = "Elasticsearch") -> KnownSettings:
    """The settings of a product; those that only the server itself may set are not among them.

    Args:
        product: `Elasticsearch` or `OpenSearch`.
    """
    name = "opensearch_index_settings.json" if product == "OpenSearch" else "index_settings.json"
    stored = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return KnownSettings(
        product,
        tuple(map(parsed_version, stored["read_from"])),
        {name: (parsed_version(first), parsed_version(last)) for name, (first, last) in stored["settings"].items()},
    )
