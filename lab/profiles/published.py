"""Published figures: what a source document measured, step by step, read from experiments/published."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from lab.errors import ProfileError
from lab.profiles.files import REPOSITORY, names_in
from lab.profiles.located import Located
from lab.profiles.models import Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.yaml_model import TreePath, dotted, read_model

FOLDER = Path("experiments") / "published"

ROUNDED = 0.005
"""A stated quotient may differ by this share of it from that of the two values: it is rounded."""


class PublishedMetric(Section):
    """A metric of ours that the source measured; a value may be half of `rounded_to` smaller or larger than stated."""

    scope: str = Field(min_length=1, description="the metric's scope, such as primaries")
    unit: str = Field(min_length=1, description="the metric's unit")
    rounded_to: float = Field(0, ge=0, description="what its values are rounded to, such as 0.01")


class Comparison(Section):
    """Two values of one metric that the source lays beside each other; `times` as it is written there."""

    metric: str = Field(description="one of `metrics`")
    against: str = Field(description="the variant of another step")
    times: float = Field(ge=1, description="by how many times the source says that it changed")
    change: Literal["increase", "decrease"] = Field(description="increase or decrease")
    heading: str | None = Field(None, min_length=1, description="heading in the source, if not the step's")
    note: str | None = Field(None, min_length=1, description="what a reader must know")


class Step(Section):
    """One setting that the source measured."""

    variant: str = Field(min_length=1, description="the profile that asks for the same setting")
    heading: str = Field(min_length=1, description="heading in the source")
    values: Mapping[str, float] = Field(min_length=1, description="value by metric")
    compared: list[Comparison] = Field(default_factory=list, description="what the source compares it with")
    note: str | None = Field(None, min_length=1, description="what a reader must know")


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """A comparison of the source with both of its values.

    Attributes:
        source: Document and place.
        note: What a reader must know of the comparison and of the step; `None` where there is nothing.
    """

    variant: str
    against: str
    metric: str
    scope: str
    value: float
    against_value: float
    source: str
    note: str | None
    rounded_to: float

    @property
    def ratio(self) -> float:
        """The quotient of the two values, which is not always the one that the source states."""
        return self.value / self.against_value

    @property
    def rounded(self) -> tuple[float, float]:
        """The smallest and the largest quotient of what the two values may have been rounded from."""
        off = self.rounded_to / 2
        return (self.value - off) / (self.against_value + off), (self.value + off) / (self.against_value - off)


class Published(Section):
    """Published figures, as their file states them and checked."""

    title: str = Field(min_length=1, description="the document's title")
    published_by: str = Field(min_length=1, description="who published it, and where")
    measured_on: str = Field(min_length=1, description="machine, versions and number of runs")
    caveats: list[str] = Field(default_factory=list, description="what it leaves open, and where our profiles differ")
    metrics: Mapping[str, PublishedMetric] = Field(min_length=1, description="what was measured, as we call it")
    steps: list[Step] = Field(min_length=1, description="the settings, in the order of the document")

    @property
    def values(self) -> dict[str, Mapping[str, float]]:
        """Variant → metric → value."""
        return {step.variant: step.values for step in self.steps}

    @property
    def comparisons(self) -> Iterator[PublishedComparison]:
        """The comparisons that the source itself draws."""
        for step in self.steps:
            for comparison in step.compared:
                note = " ".join(note for note in (comparison.note, step.note) if note)
                yield self._compared(step, comparison.against, comparison.metric, comparison.heading, note or None)

    def unstated(self, variant: str, against: str) -> Iterator[PublishedComparison]:
        """What the values of two steps give where the source itself does not compare them."""
        note = "The source does not compare these two; the quotient is that of its values."
        stated = {(other.variant, other.against, other.metric) for other in self.comparisons}
        others = self.values.get(against, {})
        for step in self.steps:
            for metric in step.values if step.variant == variant else ():
                if metric in others and (variant, against, metric) not in stated:
                    yield self._compared(step, against, metric, None, note)

    def _compared(
        self, step: Step, against: str, metric: str, heading: str | None, note: str | None
    ) -> PublishedComparison:
        return PublishedComparison(
            variant=step.variant,
            against=against,
            metric=metric,
            scope=self.metrics[metric].scope,
            value=step.values[metric],
            against_value=self.values[against][metric],
            source=f"{self.title} ({self.published_by}), {heading or step.heading}",
            note=note,
            rounded_to=self.metrics[metric].rounded_to,
        )


def published_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all files of published figures, sorted."""
    return names_in(root / FOLDER)


def load_published(name: str, root: Path = REPOSITORY) -> Published:
    """The figures of a file of experiments/published, given without .yaml.

    Raises:
        ProfileError: Every problem of the file, a line each.
    """
    path = root / FOLDER / f"{name}.yaml"
    if not re.fullmatch(r"[\w-][\w.-]*", name) or not path.is_file():
        remedy = suggestion(name, published_names(root), "one of")
        raise ProfileError(f'unknown published figures "{name}", {remedy}')
    label = path.relative_to(root).as_posix()
    file, tree, problems = read_model(path, label, Published, what="published figures")
    problems += _contradictions(file, tree) if file is not None else []
    if file is None or problems:
        raise refusal(problems)
    return file


# --- what a model cannot see ----------------------------------------------------------------------------------------


def _contradictions(file: Published, tree: Located) -> list[Problem]:
    """Names that stand for nothing, and stated quotients that are not those of the values and have no note."""
    return [
        Problem(tree.place_of(*path), dotted(path), message)
        for position, step in enumerate(file.steps)
        for path, message in (*_of_step(file, position, step), *_of_comparisons(file, position, step))
    ]


def _of_step(file: Published, position: int, step: Step) -> Iterator[tuple[TreePath, str]]:
    if any(step.variant == earlier.variant for earlier in file.steps[:position]):
        yield ("steps", position, "variant"), f'"{step.variant}" has a step already, expected each variant once'
    for metric, value in step.values.items():
        path = ("steps", position, "values", metric)
        if metric not in file.metrics:
            yield path, f'unknown metric "{metric}", {suggestion(metric, file.metrics, "one of `metrics`")}'
        elif value <= (least := file.metrics[metric].rounded_to / 2):
            yield path, f"got {value:g}, expected more than {least:g}"


def _of_comparisons(file: Published, position: int, step: Step) -> Iterator[tuple[TreePath, str]]:
    # Of two steps of one variant the first counts; the second is a problem of its own.
    values = {other.variant: other.values for other in reversed(file.steps) if other.variant != step.variant}
    for place, compared in enumerate(step.compared):
        path = ("steps", position, "compared", place)
        others = [variant for variant, measured in values.items() if compared.metric in measured]
        if compared.metric not in step.values:
            remedy = suggestion(compared.metric, step.values, "one of the step's `values`")
            yield (*path, "metric"), f'no value of "{compared.metric}", {remedy}'
        elif compared.against not in others:
            remedy = suggestion(compared.against, others, "the variant of a step")
            yield (*path, "against"), f'no value of "{compared.against}", {remedy}'
        elif not compared.note:
            yield from _misquoted(path, compared, step.values[compared.metric], values[compared.against])


def _misquoted(
    path: TreePath, compared: Comparison, value: float, against: Mapping[str, float]
) -> Iterator[tuple[TreePath, str]]:
    if value <= 0 or against[compared.metric] <= 0:
        return
    ratio = value / against[compared.metric]
    times = ratio if compared.change == "increase" else 1 / ratio
    if abs(times - compared.times) > ROUNDED * compared.times:
        yield (
            (*path, "times"),
            f"got {compared.times:g} ({compared.change}), expected {times:.4g} as the two values give, or a `note` that"
            " says where the source disagrees with itself",
        )
