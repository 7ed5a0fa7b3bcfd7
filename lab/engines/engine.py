"""The interface of a search engine, and a release of one."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lab.engines.java import JavaRange

Version = tuple[int, ...]


def parsed_version(text: str) -> Version:
    """`8.19.21` as numbers that compare; of a cluster that is being upgraded, `2.19.1 and 3.0.0`, the oldest.

    Raises:
        ValueError: It is none.
    """
    versions = re.findall(r"\d+(?:\.\d+)+", text)
    if not versions:
        raise ValueError(text)
    return min(tuple(map(int, version.split("."))) for version in versions)


@dataclass(frozen=True)
class DenseVectors:
    """The first versions with each part of `dense_vector`.

    Attributes:
        indexed: Before, no field of vectors was indexed.
        index_types: By `index_options.type`; a type that is missing here is as old as indexed vectors.
        rescored: `rescore_vector` in a `knn` search.
        licensed: An index type whose mapping every server takes, and which refuses every document without an Enterprise
            licence.
    """

    indexed: Version
    index_types: Mapping[str, Version]
    rescored: Version
    licensed: str


@dataclass(frozen=True)
class IndexSettings:
    """The index settings that versions of an engine register and a request may set.

    Attributes:
        read_from: The versions, oldest first.
        known: Name without `index.` → first and last version with it. A name that ends in a dot is a group.
    """

    read_from: tuple[str, ...]
    known: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Engine(ABC):
    """A search engine.

    Attributes:
        name: Its option, its program, and the prefix of its artifact sets: `opensearch`.
        title: Its name in a sentence.
        key: Path of the key of its version in a profile.
        example_version: A version for messages about a malformed one.
        maven_group: Group of its artifacts in a Maven repository.
        distribution: `version.distribution` of its `GET /`; `None` if it has none.
        variables: Prefix of the environment variables that its start script reads.
        launcher_variable: The variable with the options of its launcher's JVM; `None` if it starts without a launcher.
        master_role: Its name for a node that may be elected.
        dense_vectors: What its versions know of `dense_vector`; `None` if it has no such field.
        index_modes: Value of `index.mode` → the first version with it; of others, the server itself judges.
        vendor: Address below which its makers publish their archives.
        archives: Machine, as `this_machine` names it → path of its archive there, with `{version}`.
        switched_off: Folder of a distribution → setting, and its value, that nodes get where that folder is there.
        has_images: Whether our containers can run it.
        has_rally: Whether Rally races on it.
        recorded: Its name in records, which name the default engine nowhere.
    """

    name: str
    title: str
    key: tuple[str, ...]
    example_version: str
    maven_group: str
    distribution: str | None = None
    variables: str
    launcher_variable: str | None = None
    master_role: str
    dense_vectors: DenseVectors | None = None
    index_modes: Mapping[str, Version] = field(default_factory=dict)
    vendor: str
    archives: Mapping[str, str]
    switched_off: Mapping[str, tuple[str, bool]]
    has_images: bool = False
    has_rally: bool = False
    recorded: str | None = None

    @abstractmethod
    def java(self, version: Version) -> JavaRange:
        """The Java releases that a version runs on."""

    @abstractmethod
    def has_codec(self, codec: str, version: Version, *, plugins: bool) -> bool:
        """Whether an index of a version may have a codec.

        Args:
            plugins: Whether the server may have plugins.
        """

    @property
    def dotted_key(self) -> str:
        """The key of its version in a profile: `elasticsearch.version`."""
        return ".".join(self.key)

    @property
    def settings_file(self) -> Path:
        """The catalogue of the index settings that its versions register, which `tools/add_version.py` writes."""
        return Path(__file__).with_name(f"{self.name}_index_settings.json")

    @cached_property
    def index_settings(self) -> IndexSettings:
        """That catalogue; in the file, a setting without a last version is one of the newest."""
        stored = json.loads(self.settings_file.read_text(encoding="utf-8"))
        newest = stored["read_from"][-1]
        known = {name: (first, last[0] if last else newest) for name, (first, *last) in stored["settings"].items()}
        return IndexSettings(tuple(stored["read_from"]), known)

    def distribution_path(self, version: str) -> str:
        """The path of a version's server in a Maven repository."""
        group = self.maven_group.replace(".", "/")
        return f"{group}/distribution/integ-test-zip/{self.name}/{version}/{self.name}-{version}.zip"


@dataclass(frozen=True)
class Release:
    """An engine in one version."""

    engine: Engine
    version: str

    def __str__(self) -> str:
        """As it reads in a sentence: `OpenSearch 3.0.0`."""
        return f"{self.engine.title} {self.version}"

    @property
    def set_name(self) -> str:
        """Its set of artifacts, and its data folder: `opensearch-3.0.0`."""
        return f"{self.engine.name}-{self.version}"

    @property
    def recorded(self) -> str:
        """As records have it: the version, after the engine where that is not the default one."""
        return f"{self.engine.recorded} {self.version}" if self.engine.recorded else self.version

    @property
    def numbers(self) -> Version:
        """Its version as numbers that compare."""
        return parsed_version(self.version)

    @property
    def java(self) -> JavaRange:
        """The Java releases that it runs on."""
        return self.engine.java(self.numbers)
