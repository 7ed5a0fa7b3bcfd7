"""A profile: every setting of one run, checked, with all defaults filled in.

Names that are ours carry their unit; settings of Kafka, Kafka Connect and Elasticsearch keep the names that those
systems gave them and are passed on verbatim.
"""

import hashlib
import json
from collections.abc import Mapping
from math import isfinite
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from lab.engines import DEFAULT, ENGINES, Release
from lab.profiles.loads import (
    KINDS_OF_LOAD,
    NOT_KAFKA,
    Direct,
    Drain,
    Load,
    QueryLoad,
    QueryOnly,
    Rally,
    Ramp,
    Recorded,
    Section,
    Stream,
    keys_only_of,
)
from producers.registry import DATASETS

__all__ = [
    "BOUNDS",
    "KINDS_OF_LOAD",
    "NOT_KAFKA",
    "Dataset",
    "Direct",
    "Drain",
    "Elasticsearch",
    "Maintain",
    "Producer",
    "Profile",
    "Queries",
    "QueryLoad",
    "QueryOnly",
    "QueryWindow",
    "Rally",
    "Ramp",
    "Recorded",
    "Section",
    "Settings",
    "Sink",
    "Stream",
    "keys_only_of",
]

Settings = Mapping[str, JsonValue]
"""Settings of Elasticsearch, whose values may be lists."""


def _scalar(value: object) -> object:
    # One refusal, where the types of a union would each give their own.
    if isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise PydanticCustomError("scalar", "text, a finite number, true or false")


ClientSettings = Mapping[str, Annotated[str | int | float | bool, BeforeValidator(_scalar)]]
"""Settings of Kafka and Kafka Connect."""


class Dataset(Section):
    """What is streamed. Keys that are not listed here are options of the dataset itself, passed to it verbatim."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(description=f"Dataset of `producers`: {', '.join(DATASETS.built_in)}")
    documents: PositiveInt | None = Field(None, description="How many documents to stream")
    books: PositiveInt | None = Field(
        None, description="How many entities (books) to stream; their number of documents follows from the model"
    )
    seed: int = Field(
        1, ge=0, description="The same seed gives the same documents, in every process and on every machine"
    )

    @property
    def options(self) -> dict[str, Any]:
        """The dataset's own options, such as `model` or `path`, as `make_dataset` takes them; so is `books`."""
        books = {} if self.books is None else {"books": self.books}
        return books | dict(self.model_extra or {})


class Topic(Section):
    """The topic that the documents go through."""

    partitions: PositiveInt = Field(1, description="Partitions of the topic: the most sink tasks that can work")
    replication_factor: PositiveInt = Field(1, description="Brokers that hold each partition")
    config: ClientSettings = Field(default_factory=dict, description="Topic settings of Kafka, verbatim")


class Producer(Section):
    """How the documents get into the topic."""

    processes: PositiveInt = Field(1, description="Producer processes; each sends its own range of documents")
    client: ClientSettings = Field(default_factory=dict, description="Client settings of librdkafka, verbatim")


class Sink(Section):
    """The writer of the index: a connector, an installed pipeline, or a command that the user names."""

    connector: str = Field(
        "elasticsearch", description="Connector template: a file of connect/connectors, without .json"
    )
    tasks: PositiveInt = Field(1, description="Tasks of the connector (tasks.max)")
    config: ClientSettings = Field(
        default_factory=dict,
        description="Connector settings, verbatim; they override the template's; or settings of a pipeline",
    )
    plugin_path: str | None = Field(
        None, min_length=1, description="Folder that holds the folder of the connector's plugin, if it is not ours"
    )
    command: list[str] | None = Field(
        None, min_length=1, description="A pipeline that runs instead of a connector: its program and arguments"
    )
    pipeline: str | None = Field(
        None, description="A pipeline of an installed package that runs instead of a connector: its name"
    )

    @property
    def is_connector(self) -> bool:
        """True unless a pipeline runs instead of a connector."""
        return self.command is None and self.pipeline is None

    @model_serializer(mode="wrap")
    def _without_an_absent_pipeline(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A sink without one leaves records, and fingerprints, as they were before there was such a key."""
        values: dict[str, Any] = written(self)
        if self.pipeline is None:
            values.pop("pipeline", None)
        return values


class Elasticsearch(Section):
    """The cluster, also where its nodes are OpenSearch."""

    version: str = Field(
        DEFAULT.version,
        pattern=r"^\d+\.\d+\.\d+$",
        description="Elasticsearch version, where the target starts the servers",
    )
    java: PositiveInt | None = Field(
        None,
        description="Feature release of the Java for Elasticsearch, such as 21; by default one that fits",
    )
    distribution: str | None = Field(
        None,
        min_length=1,
        description="Folder of an unpacked archive of Elastic's or OpenSearch's, or `official`, which fetches it; by "
        "default the small distribution on Maven Central",
    )
    data_nodes: int = Field(1, ge=1, le=6, description="Data nodes; the first one is also the master")
    heap_mb: int = Field(1024, ge=128, description="Java heap of each node in MiB")
    memory_limit_mb: PositiveInt | None = Field(
        None, description="Most memory of each node in MiB, Java heap and page cache together, while queries are sent"
    )
    page_cache_mb: int | None = Field(
        None, ge=64, description="Page cache of each node in MiB, beside all else that it uses, while queries are sent"
    )
    read_iops_limit: PositiveInt | None = Field(
        None, description="Most read operations of each node on its disk per second, while queries are sent"
    )
    cluster_settings: Settings = Field(default_factory=dict, description="Persistent cluster settings, verbatim")
    node_settings: Settings = Field(
        default_factory=dict, description="Static settings of each node, verbatim; the target must start the servers"
    )

    @property
    def bounds(self) -> dict[str, int | None]:
        """What a run bounds of servers that run, by key."""
        return {name: getattr(self, name) for name in BOUNDS}


BOUNDS = ("memory_limit_mb", "page_cache_mb", "read_iops_limit")
"""What a run sets on servers that run, and takes back."""

MOST_INDICES = 20


class Verify(Section):
    """How what is stored is compared with what was produced. The count is always checked."""

    expect: Literal["stored", "consumed"] = Field(
        "stored",
        description="stored: every document is in the index; consumed: every record was read and none is stored",
    )
    sample: int = Field(
        1000,
        ge=0,
        description="Documents drawn at random and compared; of up to 20,000 each is compared; 0: none",
    )


class QueryWindow(Section):
    """The part of the data that a query asks about: from one instant of the documents to another."""

    seconds: float = Field(gt=0, description="Its length, in the documents' own time")
    place: Literal["newest", "drawn"] = Field(
        "newest", description="newest: it ends with the newest searchable document; drawn: anywhere in `within`"
    )
    within: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the documents, oldest first, that windows are drawn from: the working set",
    )


class Queries(Section):
    """Questions to the index: asked once it is verified, one after the other, or sent as `load.queries` says."""

    questions: list[str] = Field(min_length=1, description="Questions: files of experiments/queries, without .yaml")
    repeats: PositiveInt = Field(200, description="How often each is asked, with other values each time")
    warm_up: int = Field(20, ge=0, description="Uncounted answers of each question before these")
    seed: int = Field(1, ge=0, description="The same seed draws the same values, whatever the document model")
    expect_wrong: list[str] = Field(
        default_factory=list, description="Questions whose wrong answers the profile demonstrates"
    )
    window: QueryWindow | None = Field(None, description="What part of the data each query asks about; all if absent")
    model: str | None = Field(None, description="Model whose requests are sent; by default the dataset's")
    request_cache: bool = Field(default=False, description="Whether Elasticsearch's request cache may answer")


class Maintain(Section):
    """What is done with the indices of a run once they are loaded, before they are verified."""

    action: Literal["deploy"] = Field(
        description="deploy: move the indices from the node that loaded them to those that answer queries"
    )
    route: Literal["exclude", "snapshot", "replicas-first"] = Field(
        "exclude",
        description="exclude: allocation filters and replicas in one request; replicas-first: one copy each before the "
        "index node gives up its own; snapshot: restored from a repository under another name",
    )
    index_node: str = Field("elasticsearch-1", min_length=1, description="Node that the indices are loaded on")
    to: list[str] | None = Field(
        None, min_length=1, description="Nodes that they are moved to; every other data node if absent"
    )
    number_of_replicas: int = Field(1, ge=0, description="Replicas of each primary shard there; none during the load")
    timeout_s: float = Field(3600, gt=0, description="A longer deployment is aborted")
    queries: QueryLoad | None = Field(
        None, description="Queries sent before (for `duration_s`), while the indices move, and after"
    )


class Sampling(Section):
    """How often the servers are asked for their counters."""

    interval_s: float = Field(1.0, gt=0, description="Time between two samples")


class Profile(Section):
    """Every setting of one run.

    Attributes:
        name: The profile's name (`aladin/static`), or the stem of a file that lies elsewhere.
        where: Dotted key → `file:line` or `--set`; a key that is absent has its default.
    """

    name: str
    question: str = Field(min_length=1, description="The question that a run of this profile answers")
    dataset: Dataset = Field(description="a section with `name`")
    mapping: str = Field(description="Mapping: a file of mappings/, without .json; the dataset's own when left out")
    disabled_fields: list[str] = Field(
        default_factory=list, description="Fields of the mapping, dotted, that are only stored (`enabled: false`)"
    )
    topic: Topic = Field(default_factory=Topic)
    producer: Producer = Field(default_factory=Producer)
    sink: Sink = Field(default_factory=Sink)
    elasticsearch: Elasticsearch = Field(default_factory=Elasticsearch)
    opensearch: str | None = Field(
        None,
        pattern=r"^\d+\.\d+\.\d+$",
        description="OpenSearch version, instead of `elasticsearch.version`; the rest of that section applies to it",
    )
    index: Settings = Field(default_factory=dict, description="Index settings, verbatim, dotted, without `index.`")
    indices: int = Field(
        1, ge=1, le=MOST_INDICES, description="Indices that share the documents, each filled from a topic of its own"
    )
    load: Load = Field(default_factory=Drain)
    verify: Verify = Field(default_factory=Verify)
    queries: Queries | None = Field(None, description="Questions that are asked of the index; none when left out")
    maintain: Maintain | None = Field(None, description="What is done with the indices once they are loaded")
    sampling: Sampling = Field(default_factory=Sampling)
    where: Mapping[str, str] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _without_the_other_engine(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """One version, that of the engine: nobody is to read the other one's default as what has run."""
        values: dict[str, Any] = written(self)
        if not self.disabled_fields:
            # What asks for nothing leaves records, and fingerprints, as they were before there was such a key.
            values.pop("disabled_fields", None)
        if self.elasticsearch.distribution is None:
            values.get("elasticsearch", {}).pop("distribution", None)
        for *sections, name in (engine.key for engine in ENGINES if engine is not self.release.engine):
            within = values
            for section in sections:
                within = within.get(section, {})
            within.pop(name, None)
        return values

    @property
    def release(self) -> Release:
        """The engine of the nodes, in its version."""
        given = ((engine, attrgetter(engine.dotted_key)(self)) for engine in reversed(ENGINES))
        return next(Release(engine, version) for engine, version in given if version)

    def on(self, release: Release) -> "Profile":
        """The profile on another release."""
        update: dict[str, Any] = {engine.name: None for engine in ENGINES if engine is not DEFAULT.engine}
        if release.engine is DEFAULT.engine:
            update["elasticsearch"] = self.elasticsearch.model_copy(update={"version": release.version})
        else:
            update[release.engine.name] = release.version
        return self.model_copy(update=update)

    @property
    def number_of_shards(self) -> int:
        """Primary shards of the index; 1 is Elasticsearch's default."""
        return int(str(self.index.get("number_of_shards", 1)))

    @property
    def number_of_replicas(self) -> int:
        """Replicas of each primary shard while it is loaded; 1 is Elasticsearch's default."""
        if self.maintain is not None:
            return 0
        return int(str(self.index.get("number_of_replicas", 1)))

    def fingerprint(self) -> str:
        """16 hexadecimal digits that two profiles share exactly when they ask for the same run.

        Name, question and the places of the values do not count. The content of a `file` dataset is not looked at.
        """
        settings = self.model_dump(mode="json", exclude={"name", "question", "where"})
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
