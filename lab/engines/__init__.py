"""Search engines: everything that differs between Elasticsearch, OpenSearch and the next one.

An engine is one module with one object, listed in `ENGINES`. Its versions are those of the artifact lock.
"""

from typing import Final

from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.engine import Engine, Release, Version, parsed_version
from lab.engines.java import JavaRange
from lab.engines.opensearch import OPENSEARCH

ENGINES: Final[tuple[Engine, ...]] = (ELASTICSEARCH, OPENSEARCH)
DEFAULT: Final = Release(ELASTICSEARCH, "8.19.21")
"""The release that runs unless a profile names another one."""

__all__ = ["DEFAULT", "ENGINES", "Engine", "JavaRange", "Release", "Version", "engine_called", "parsed_version"]


def engine_called(distribution: object) -> Engine:
    """The engine whose `GET /` gives this `version.distribution`; the default engine gives none."""
    return next((engine for engine in ENGINES if engine.distribution == distribution), DEFAULT.engine)
