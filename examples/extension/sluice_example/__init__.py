"""An example of a package that extends Sluice: a dataset, a pipeline, a kind of question and a metric."""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import confluent_kafka

from lab.extensions import Dataset, Description, Option, ProgramPipeline, QuestionKind, Record, RunMetric

HOTTEST = 41


@dataclass(frozen=True)
class Readings(Dataset):
    """Readings of a thermometer: each a pure function of its number."""

    documents: int
    seed: int
    step: int
    name: ClassVar[str] = "readings"

    def records(self, numbers: Any) -> Sequence[Record]:
        """Key and JSON of these readings."""
        return [
            (b"%d" % number, b'{"number":%d,"celsius":%d}' % (number, (number * self.step + self.seed) % HOTTEST))
            for number in numbers.tolist()
        ]


READINGS = Description(
    name="readings",
    summary="readings of a thermometer",
    entity="readings",
    key_order="ascending",
    options=(Option("step", int, 7, "degrees from one reading to the next"),),
    make=lambda *, documents, seed, step=7: Readings(documents or 100_000, seed, step),
)


class BulkCopy(ProgramPipeline):
    """A consumer that sends what it has read as one bulk request, with keys as ids, and commits."""

    @classmethod
    def lacks(cls, settings: Mapping[str, Any]) -> str | None:
        """A sentence on a setting that does not serve."""
        unknown = sorted(settings.keys() - {"batch.documents"})
        return f"got the setting {unknown[0]}, expected batch.documents" if unknown else None

    def command(self) -> Sequence[str]:
        """The program beside this module."""
        of, size = self.context, self.context.settings.get("batch.documents", 500)
        program = str(Path(__file__).with_name("bulk_copy.py"))
        ends = (of.kafka_bootstrap, of.topic, of.group, of.elasticsearch_urls[0], of.index)
        return [sys.executable, "-P", program, *ends, str(size)]

    def description(self) -> Mapping[str, str]:
        """The version of its client."""
        return {"version": f"confluent-kafka {confluent_kafka.__version__}"}


class Warmer(QuestionKind):
    """How many readings are warmer than `$celsius`."""

    parameters = ("celsius",)

    def draw(self, dataset: Dataset, draw: random.Random) -> Mapping[str, int]:  # noqa: ARG002 - the same for all
        """A temperature."""
        return {"celsius": draw.randrange(HOTTEST)}

    def right_answer(self, dataset: Dataset, values: Mapping[str, Any]) -> int:
        """Counted in the dataset."""
        records = (record for batch in dataset.batches(0, dataset.documents) for record in batch)
        return sum(json.loads(value)["celsius"] > values["celsius"] for _, value in records)


def load_rate(run: Any, _window: Any) -> float | None:
    """Documents of the index per second of the phase `load`."""
    seconds = sum(phase.ended_s - phase.started_s for phase in run.phases if phase.name == "load")
    return run.documents.indexed / seconds if seconds else None


LOAD_RATE = RunMetric(
    name="load_rate_docs_per_s",
    unit="docs/s",
    label="Load rate",
    meaning="Documents of the index per second of the phase `load`, start of the pipeline included.",
    value=load_rate,
)
