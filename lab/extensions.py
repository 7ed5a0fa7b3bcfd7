"""What an installed package may add to Sluice: the interface of each kind of extension.

A package names what it adds as entry points, found by `producers.extensions`: datasets (`sluice.datasets`), pipelines
(`sluice.pipelines`), kinds of questions (`sluice.questions`) and metrics (`sluice.metrics`). `docs/extending.md` shows
each in use.
"""

import random
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from lab.errors import ProfileError
from lab.program import Program
from producers.dataset import Dataset, DatasetError, Record, Timeline
from producers.extensions import Registry
from producers.registry import Description, Option

if TYPE_CHECKING:
    from lab.records.run import Run
    from lab.records.samples import Sample

__all__ = [
    "Answer",
    "Dataset",
    "DatasetError",
    "Definition",
    "Description",
    "Ids",
    "Option",
    "Pipeline",
    "PipelineContext",
    "ProgramPipeline",
    "QuestionKind",
    "Record",
    "RunMetric",
    "Timeline",
]

# --- pipelines --------------------------------------------------------------------------------------------------------

Ids = Literal["keys", "offsets", "generated"]
"""Where the id of a document comes from: the record's key; `topic+partition+offset`; or the cluster makes it."""


@dataclass(frozen=True)
class PipelineContext:
    """What a pipeline is given.

    Attributes:
        name: What a message calls it.
        kafka_bootstrap: `host:port` of the brokers, comma-separated.
        topic: To be read to its end.
        group: Consumer group to commit as: its committed offsets are sampled.
        index: To be written; it exists, with its mapping.
        settings: `sink.config` of the profile, verbatim.
        tasks: `sink.tasks` of the profile: how many may work side by side.
        root: The checkout, in which programs are started.
        folder: The run's, for files that are to be kept.
        environment: What every process that it starts must have in its environment, so that it is found and stopped if
            the run is killed.
    """

    name: str
    kafka_bootstrap: str
    topic: str
    group: str
    elasticsearch_urls: tuple[str, ...]
    index: str
    settings: Mapping[str, str | int | float | bool]
    tasks: int
    root: Path
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """The file for its output, whose last lines are shown when it fails."""
        return self.folder / "sink.log"


class Pipeline(ABC):
    """Brings the records of one run from its topic into its index, and says how to verify them.

    The methods are called in the order below. An exception of any of them ends the run with one sentence.

    Attributes:
        pulls: True if the cluster reads the topic itself: it gets no write requests, and no process can be killed or
            joined, so that `sluice prove` leaves out the cases about these.
    """

    pulls: ClassVar[bool] = False

    def __init__(self, context: PipelineContext) -> None:
        self.context = context

    @classmethod
    def lacks(cls, settings: Mapping[str, str | int | float | bool]) -> str | None:  # noqa: ARG003 - for overriding
        """A sentence on what this machine lacks, or which setting is wrong; `None` for nothing. No server runs yet."""
        return None

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Check on the servers what can be checked before the topic is filled."""

    def ids(self) -> Ids:
        """Where the id of a stored document comes from."""
        return "keys"

    def id_prefix(self) -> str:
        """The text before an id that is made of offsets."""
        return ""

    def stored(self, document: bytes) -> bytes:
        """The document that must be stored for a produced one, as JSON."""
        return document

    def deletes(self) -> bool:
        """True if a tombstone deletes the document of its key; `sluice prove` then sends some."""
        return False

    def description(self) -> Mapping[str, str]:
        """Its version and what else a reader of the run must know, for the record; settings are there already."""
        return {}

    @abstractmethod
    def start(self) -> int | None:
        """Start it; the process whose CPU and memory are sampled, its children's included, or `None` for none."""

    def is_ready(self) -> bool:
        """True once it has started; asked until then. A stream is not sent before."""
        return True

    def has_ended(self) -> bool:
        """True once it has ended by itself, and well; asked every two seconds."""
        return False

    def lag(self, delivered: int) -> int | None:  # noqa: ARG002 - for those that count
        """Records of those delivered that Elasticsearch has not acknowledged.

        `None`, if it does not count, has the load end when the group has committed every record, or the index has as
        many documents, and neither grows any more.
        """
        return None

    @abstractmethod
    def stop(self) -> None:
        """Stop it, however the run ends; called again where Ctrl-C broke off a call, or it failed."""


class ProgramPipeline(Pipeline):
    """A pipeline that is a program: started in the checkout, and stopped with all that it has started."""

    _program: Program | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Program and arguments."""

    def start(self) -> int:
        """Start it; its process id."""
        self._program = Program(
            self.command(),
            log=self.context.log,
            folder=self.context.root,
            environment=self.context.environment,
            name=self.context.name,
            clock=time.time,
        )
        return self._program.start()

    def has_ended(self) -> bool:
        """True once it has ended with status 0; any other status ends the run."""
        if self._program is None:
            return False
        self._program.check()
        return self._program.ended_s is not None

    def stop(self) -> None:
        """Send SIGTERM, and after 20 s SIGKILL."""
        if self._program is not None:
            self._program.stop()


PIPELINES: Final[Registry[type[Pipeline]]] = Registry("pipeline", Pipeline, {}, ProfileError)
"""Pipelines of installed packages; our connector and `sink.command` are none that a profile names here."""


def example_pipelines(root: Path) -> dict[str, Path]:
    """Pipelines of the packages in `examples/`, installed or not → the package's folder, below the checkout."""
    return {
        name: file.parent.relative_to(root)
        for file in sorted((root / "examples").glob("*/pyproject.toml"))
        for name in tomllib.loads(file.read_text("utf-8"))
        .get("project", {})
        .get("entry-points", {})
        .get("sluice.pipelines", ())
    }


# --- questions --------------------------------------------------------------------------------------------------------

Answer = list[str] | dict[str | tuple[str, ...], list[Any]] | int
"""Ids, best first; or id or counted value → values; or a number."""


class QuestionKind(ABC):
    """Draws the values of a question, and works the right answer out from the dataset, never from the index."""

    parameters: tuple[str, ...] = ()
    """Names of the values, which requests of the question's file have as `$name`."""

    @abstractmethod
    def draw(self, dataset: Dataset, draw: random.Random) -> Mapping[str, str | int]:
        """A value for each parameter."""

    @abstractmethod
    def right_answer(self, dataset: Dataset, values: Mapping[str, str | int]) -> Answer:
        """The right answer for these values, over all documents."""


QUESTION_KINDS: Final[Registry[type[QuestionKind]]] = Registry("question", QuestionKind, {}, ProfileError)
"""Kinds of questions of installed packages."""

# --- metrics ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric.

    Attributes:
        unit: A metric in something per second counts as faster where it is larger.
        label: What a reader sees.
        meaning: One sentence; what is counted, from which instant to which.
    """

    name: str
    unit: str
    label: str
    meaning: str


@dataclass(frozen=True, slots=True)
class RunMetric(Definition):
    """A metric of an installed package: one value for a run.

    Attributes:
        value: Works it out from the run's record and the samples of its measured window; `None` where that cannot be.
    """

    value: "Callable[[Run, Sequence[Sample]], float | None]"
