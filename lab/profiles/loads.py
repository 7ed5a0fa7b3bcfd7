"""The kinds of load of a profile, a section each, and what tells them apart."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeInt,
    PositiveInt,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationInfo,
    field_validator,
    model_serializer,
)
from pydantic_core import PydanticCustomError

from lab.errors import ProfileError


class Section(BaseModel):
    """A section of a profile: immutable, strict about types, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


MODE = (
    "drain: everything is ready before the load starts; stream: produce at a rate; query: queries alone, on an index "
    "that is loaded before and kept"
)
VIA = (
    "kafka: through the topic and the sink; direct: ready-made bulk requests, straight to Elasticsearch; rally: the "
    "same documents, sent by Rally's bulk task"
)


class QueryLoad(Section):
    """Queries that several clients send side by side: at a rate (open loop), or each after the other (closed loop)."""

    clients: PositiveInt = Field(1, description="Most queries under way at a time")
    rate_per_s: float | None = Field(
        None, gt=0, description="Queries due per second, over all clients (open loop); none for a closed loop"
    )
    think_time_s: float = Field(
        0, ge=0, description="Pause of a client between an answer and its next query (closed loop)"
    )
    duration_s: float | None = Field(
        None, gt=0, description="How long queries are sent, warm-up not counted; as long as documents stream if absent"
    )
    requests: PositiveInt | None = Field(None, description="How many queries are sent, in place of `duration_s`")
    warm_up_s: float = Field(5, ge=0, description="Queries of the first seconds are not counted")


class Ramp(Section):
    """The rate rises step by step until a latency breaks its bound: that of queries, or end to end of documents."""

    p99_ms: float = Field(gt=0, description="The bound: p99 from the due time")
    factor: float = Field(1.25, gt=1, description="From one step's rate to the next")
    step_s: float = Field(10, gt=0, description="How long each step lasts")


class LoadSection(Section):
    """A kind of load, and what others may ask of it.

    Attributes:
        uses_kafka: True if documents go through a topic and a sink.
        fills_index: True if each run fills indices of its own.
    """

    uses_kafka: ClassVar[bool] = False
    fills_index: ClassVar[bool] = True

    @property
    def one_rate_docs_per_s(self) -> float | None:
        """Rate of all its documents; `None` where they have none, or several."""
        has_several = getattr(self, "ramp", None) or getattr(self, "stages", None)
        rate: float | None = None if has_several else getattr(self, "rate_docs_per_s", None)
        return rate


class SendsNoQueries:
    """Loads that send no queries meanwhile, and whose rate nothing bounds."""

    queries: ClassVar[None] = None
    ramp: ClassVar[None] = None


class HasNoRate:
    """Loads that go as fast as they can."""

    rate_docs_per_s: ClassVar[None] = None


class Drain(SendsNoQueries, HasNoRate, LoadSection):
    """The topic is filled first; then the connector starts and drains it as fast as it can."""

    uses_kafka = True

    mode: Literal["drain"] = Field("drain", description=MODE)
    via: Literal["kafka"] = Field("kafka", description=VIA)
    warm_up_documents: NonNegativeInt | None = Field(
        None, description="Documents drained before, uncounted, if servers are cold; 0: none; suites warm up anyway"
    )
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")


MOST_PERCENT = 200
"""Beyond the limit, to see what happens there."""


def checked_rate(rate: object) -> str:
    """A rate of documents, such as `600` or `70 %`, as it is written down; raises PydanticCustomError if it is none."""
    number, percent, rest = str(rate).replace(" ", "").partition("%")
    try:
        value = float(number if percent else number.removesuffix("/s"))
    except ValueError:
        value = 0.0
    if rest or not 0 < value < inf or (percent and value > MOST_PERCENT):
        raise PydanticCustomError(
            "rate", "documents per second, such as `600`, or a share of the limit, such as `70 %`"
        )
    return f"{value:g} %" if percent else f"{value:g}"


def _stage_rate(written: object) -> str:
    return "fast" if written == "fast" else checked_rate(written)


class Stage(Section):
    """Part of a stream: so many documents, at a rate of their own."""

    documents: PositiveInt | None = Field(None, description="How many of them; of the last stage, the rest")
    rate: Annotated[str, BeforeValidator(_stage_rate)] | None = Field(
        None,
        description="documents per second, such as `600`; `70 %` of the limit that the first stage has shown; `fast`: "
        "as fast as Kafka takes them. By default the load's",
    )


class Pause(Section):
    """A time in which the nodes of the cluster are paused: they take connections, and answer nothing."""

    after_s: float = Field(gt=0, description="From the begin of the last stage to the pause")
    seconds: float = Field(gt=0, description="How long it lasts")


class Stream(LoadSection):
    """The connector runs while documents are produced at a rate."""

    uses_kafka = True

    mode: Literal["stream"] = Field(description=MODE)
    via: Literal["kafka"] = Field("kafka", description=VIA)
    rate_docs_per_s: float = Field(gt=0, description="Documents due per second, over all processes or connections")
    queries: QueryLoad | None = Field(None, description="How the questions of `queries` are sent meanwhile")
    ramp: Ramp | None = Field(None, description="Raise that rate until documents take too long, end to end")
    stages: list[Stage] = Field(
        default_factory=list,
        description="Parts with rates of their own. A `fast` first one is in the topic before the pipeline starts: how "
        "fast it is drained is the pipeline's limit",
    )
    pause: Pause | None = Field(None, description="Pause the nodes of the cluster for a while (local servers only)")
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")

    def stages_s(self, documents: int) -> float:
        """Least time of the stages whose rates are known, or of the pause."""
        seconds = self.pause.after_s + self.pause.seconds if self.pause else 0.0
        at_rates = 0.0
        for stage in self.stages:
            part = min(documents, stage.documents or documents)
            documents -= part
            if stage.rate is None or stage.rate[-1].isdigit():
                at_rates += part / float(stage.rate or self.rate_docs_per_s)
        return max(seconds, at_rates)

    def refuse_documents(self, documents: int) -> None:
        """Refuse a dataset that ends before the last stage; raises ProfileError if it does."""
        earlier = sum(stage.documents or 0 for stage in self.stages)
        if self.stages and earlier >= documents:
            raise ProfileError(
                f"load.stages: got {earlier:,} documents before the last stage, expected fewer than the {documents:,} "
                "of the dataset; the last stage has the rest"
            )

    @field_validator("stages")
    @classmethod
    def _stages_fit(cls, stages: list[Stage], info: ValidationInfo) -> list[Stage]:
        """Refuse stages that cannot be produced."""
        if any(stage.documents is None for stage in stages[:-1]):
            raise PydanticCustomError("stages", "`documents` of every stage but the last one")
        if stages and stages[-1].documents is not None:
            raise PydanticCustomError("stages", "no `documents` of the last stage, which has the rest")
        knows_limit = bool(stages) and stages[0].rate == "fast"
        if any(stage.rate and stage.rate.endswith("%") for stage in stages) and not knows_limit:
            raise PydanticCustomError(
                "stages", "`rate: fast` of the first stage, since another is a share of the limit"
            )
        if stages and (info.data.get("ramp") or info.data.get("queries")):
            raise PydanticCustomError("stages", "none beside `ramp` or `queries`")
        return stages

    @field_validator("pause")
    @classmethod
    def _pause_is_in_a_stage(cls, pause: Pause | None, info: ValidationInfo) -> Pause | None:
        if pause and not info.data.get("stages", True):
            raise PydanticCustomError("pause", "none without `stages`")
        return pause

    @model_serializer(mode="wrap")
    def _without_absent_stages(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A stream without them leaves records, and fingerprints, as they were before there were such keys."""
        values: dict[str, Any] = written(self)
        return {name: value for name, value in values.items() if value or name not in ("stages", "pause")}


def _pace(written: object) -> object:
    """The text of a pace, without blanks."""
    text = str(written).replace(" ", "")
    if text != "recorded" and not (text.endswith("x") and _positive(text[:-1])):
        raise PydanticCustomError("pace", "`recorded`, or a multiple of that, such as `2x`")
    return text


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < inf
    except ValueError:
        return False


class Recorded(HasNoRate, LoadSection):
    """The connector runs while the records of a slice are produced as they were recorded."""

    uses_kafka = True
    ramp: ClassVar[None] = None

    mode: Literal["stream"] = Field(description=MODE)
    via: Literal["kafka"] = Field("kafka", description=VIA)
    pace: Annotated[str, BeforeValidator(_pace)] = Field(
        description="recorded: each record of a slice after the time that lay between it and the first one; 2x: half "
        "that time"
    )
    queries: QueryLoad | None = Field(None, description="How the questions of `queries` are sent meanwhile")
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")

    @property
    def speed(self) -> float:
        """The number by which recorded times are divided."""
        return 1.0 if self.pace == "recorded" else float(self.pace.removesuffix("x"))


class Direct(SendsNoQueries, LoadSection):
    """No Kafka and no sink: ready-made bulk requests of the same documents, ids and versions.

    Without a rate, what Elasticsearch takes at most, for a drain to be compared with.
    """

    mode: Literal["drain"] = Field("drain", description=MODE)
    via: Literal["direct"] = Field(description=VIA)
    connections: PositiveInt = Field(2, description="Connections, each with one bulk request under way")
    batch_documents: PositiveInt = Field(2000, description="Most documents in a bulk request")
    bulk_size_bytes: PositiveInt = Field(
        5_242_880, description="Most bytes in a bulk request; a larger document is sent alone"
    )
    bulk_by_shard: bool = Field(
        default=False,
        description="Whether a bulk request holds documents of one shard and goes to the node of its primary",
    )
    rate_docs_per_s: float | None = Field(
        None, gt=0, description="Documents due per second, over all processes or connections"
    )
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")


class Rally(SendsNoQueries, HasNoRate, LoadSection):
    """No Kafka and no sink: the documents of a direct load, with their ids and versions, sent by Rally's bulk task."""

    mode: Literal["drain"] = Field("drain", description=MODE)
    via: Literal["rally"] = Field(description=VIA)
    clients: PositiveInt = Field(2, description="Clients of the bulk task, each with one bulk request under way")
    bulk_size: PositiveInt = Field(2000, description="Documents in a bulk request")
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")


class QueryOnly(HasNoRate, LoadSection):
    """Queries alone: the index is loaded and verified once, and kept for every run that reads the same layout."""

    fills_index = False

    mode: Literal["query"] = Field(description=MODE)
    via: ClassVar[Literal["direct"]] = "direct"
    queries: QueryLoad = Field(default_factory=QueryLoad, description="How the questions of `queries` are sent")
    ramp: Ramp | None = Field(None, description="Raise the rate until queries take too long")
    route: Literal["loaded", "reindexed", "rewritten"] = Field(
        "loaded",
        description="How the index gets its settings: loaded with them; reindexed from another by a client; or "
        "rewritten: closed, changed, opened and force-merged",
    )
    codec_before: str | None = Field(None, description="index.codec before it was reindexed or rewritten")
    segments: PositiveInt | None = Field(None, description="Segments of each shard that a force-merge leaves")
    timeout_s: float = Field(3600, gt=0, description="A longer load is aborted")


KINDS_OF_LOAD: tuple[type[LoadSection], ...] = (Drain, Stream, Recorded, Direct, Rally, QueryOnly)

NOT_KAFKA = ("direct", "rally")
"""Ways of a load that know neither Kafka nor a sink."""


def keys_only_of(kind: type[LoadSection]) -> tuple[str, ...]:
    """Keys of the section `load` that one kind of load has, and no other."""
    others = {name for other in KINDS_OF_LOAD if other is not kind for name in other.model_fields}
    return tuple(name for name in kind.model_fields if name not in others)


def load_kind(load: object) -> object:
    """Which of the loads a section asks for: its `via` where that knows no Kafka, or else its mode, `drain` if none.

    A stream with a pace is a load of its own.
    """

    def stated(name: str, default: str | None) -> object:
        return load.get(name, default) if isinstance(load, Mapping) else getattr(load, name, default)

    mode, via = stated("mode", "drain"), stated("via", "kafka")
    if mode == "stream" and via not in NOT_KAFKA and stated("pace", None) is not None:
        return "recorded"
    return via if mode != "query" and via in NOT_KAFKA else mode


Load = Annotated[
    Annotated[Drain, Tag("drain")]
    | Annotated[Stream, Tag("stream")]
    | Annotated[Recorded, Tag("recorded")]
    | Annotated[Direct, Tag("direct")]
    | Annotated[Rally, Tag("rally")]
    | Annotated[QueryOnly, Tag("query")],
    Discriminator(load_kind),
]
