"""Elasticsearch."""

from dataclasses import dataclass
from typing import Final

from lab.engines.engine import DenseVectors, Engine, Version
from lab.engines.java import NEWEST_KNOWN, JavaRange

_LAST_WITHOUT_LEGACY_CODECS: Version = (7, 17, 99)
"""7.17.7 refuses them; 8.19.21 and 9.5.3 take `legacy_default` and `legacy_best_compression`."""

_SWITCHED_OFF: Final = {
    # As it is stated, the first start configures no TLS: `AutoConfigureNode.checkExistingConfiguration`.
    "modules/x-pack-security": ("xpack.security.enabled", False),
    # Native processes, and indices of its own: `XPackSettings.MACHINE_LEARNING_ENABLED`.
    "modules/x-pack-ml": ("xpack.ml.enabled", False),
    # Asks Elastic's servers for databases: `GeoIpDownloaderTaskExecutor.ENABLED_SETTING`, from 7.13 on.
    "modules/ingest-geoip": ("ingest.geoip.downloader.enabled", False),
}
"""The loopback interface needs no passwords, and a server in a lab calls nobody."""


@dataclass(frozen=True, eq=False)
class Elasticsearch(Engine):
    """What its versions differ in."""

    def java(self, version: Version) -> JavaRange:
        """The Java releases that a version runs on.

        Source: Elastic's support matrix (JVM). Up to 8.17 Elasticsearch needs the security manager, which Java 24
        dropped; 9.0 refuses to start on Java 25, whose classes its entitlement checks (ASM 9.7) cannot read.
        """
        major, minor = version[:2]
        if major < 8:
            return JavaRange(11, 17)
        if major == 8:
            return JavaRange(17, 25 if minor >= 19 else 23)
        newest = {0: 24, 1: 25, 2: 25, 3: 25}.get(minor, NEWEST_KNOWN) if major == 9 else NEWEST_KNOWN
        return JavaRange(21, newest)

    def has_codec(self, codec: str, version: Version, *, plugins: bool) -> bool:  # noqa: ARG002 - no codec is a plugin's
        """Whether an index of a version may have a codec."""
        return not (codec.startswith("legacy_") and version <= _LAST_WITHOUT_LEGACY_CODECS)


ELASTICSEARCH: Final = Elasticsearch(
    name="elasticsearch",
    title="Elasticsearch",
    key=("elasticsearch", "version"),
    example_version="8.19.21",
    maven_group="org.elasticsearch",
    variables="ES",
    launcher_variable="CLI_JAVA_OPTS",
    master_role="master",
    dense_vectors=DenseVectors(
        indexed=(8, 0),
        index_types={
            "int8_hnsw": (8, 12),
            "flat": (8, 13),
            "int8_flat": (8, 13),
            "int4_hnsw": (8, 15),
            "int4_flat": (8, 15),
            "bbq_hnsw": (8, 16),
            "bbq_flat": (8, 16),
            "bbq_disk": (9, 2),
        },
        rescored=(8, 18),
        licensed="bbq_disk",
    ),
    # `IndexMode` of 8.17.4 and 9.0.0 ends at `logsdb` and `lookup`. Before 8.17 the server names the modes that it has.
    index_modes={"columnar": (9, 5), "logsdb_columnar": (9, 5)},
    vendor="https://artifacts.elastic.co/downloads/elasticsearch",
    archives={
        "Linux-x86_64": "elasticsearch-{version}-linux-x86_64.tar.gz",
        "Linux-aarch64": "elasticsearch-{version}-linux-aarch64.tar.gz",
    },
    switched_off=_SWITCHED_OFF,
    has_images=True,
    has_rally=True,
)
