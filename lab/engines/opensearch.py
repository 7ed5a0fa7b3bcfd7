"""OpenSearch."""

import re
from dataclasses import dataclass
from typing import Final

from lab.engines.engine import Engine, Version
from lab.engines.java import JavaRange

_CODECS: Final = r"default|best_compression|lucene_default|lz4|zlib|[A-Z]\w*"
_CODECS_OF_A_PLUGIN: Final = r"zstd\w*|qat_\w+"
"""The minimal distribution lacks them."""


@dataclass(frozen=True, eq=False)
class OpenSearch(Engine):
    """What its versions differ in."""

    def java(self, version: Version) -> JavaRange:
        """The Java releases that a version runs on.

        Source: OpenSearch's compatibility table. 2.x needs the security manager, which Java 24 dropped; 3.0's own agent
        reads classes up to those of Java 24. 3.8.0 was tried on Temurin 25; its analysis module creates no index on a
        runtime without the words of Thai (`Failed to build analyzers: [thai]`).
        """
        if version[:2] >= (3, 8):
            return JavaRange(21, 25, needs_jdk=True)
        return JavaRange(11, 23) if version[0] < 3 else JavaRange(21, 24)

    def has_codec(self, codec: str, version: Version, *, plugins: bool) -> bool:  # noqa: ARG002 - the same in all
        """Whether an index of a version may have a codec."""
        return re.fullmatch(f"{_CODECS}|{_CODECS_OF_A_PLUGIN}" if plugins else _CODECS, codec) is not None


OPENSEARCH: Final = OpenSearch(
    name="opensearch",
    title="OpenSearch",
    key=("opensearch",),
    example_version="3.0.0",
    maven_group="org.opensearch",
    distribution="opensearch",
    variables="OPENSEARCH",
    master_role="cluster_manager",
    vendor="https://artifacts.opensearch.org/releases/bundle/opensearch",
    archives={
        "Linux-x86_64": "{version}/opensearch-{version}-linux-x64.tar.gz",
        "Linux-aarch64": "{version}/opensearch-{version}-linux-arm64.tar.gz",
    },
    # Without certificates the plugin refuses to start (`ConfigConstants.SECURITY_DISABLED` of its repository).
    switched_off={"plugins/opensearch-security": ("plugins.security.disabled", True)},
    recorded="OpenSearch",
)
