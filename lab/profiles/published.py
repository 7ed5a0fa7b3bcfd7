"""Published figures: what a source document measured, step by step, read from experiments/published."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from lab.errors import ProfileError
from lab.profiles.files import REPOSITORY, file_of, names_in
from lab.profiles.located import Located
from lab.profiles.models import Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.yaml_model import TreePath, dotted, read_model

FOLDER = Path("experiments") / "published"

ROUNDED = 0.005
"""A stated quotient may differ by this share of it from that of the two values: it is rounded."""


OFF_PERCENT = 1.0
"""A stated change may be so many points off: it is rounded, or cut off."""


def _figures(stated: object) -> object:
    # One refusal, where the types of a union would each give their own.
    figures = stated if isinstance(stated, list) else [stated]
    if not figures or any(isinstance(each, bool) or not isinstance(each, int | float) for each in figures):
        raise PydanticCustomError("figures", "a number, or a list of numbers")
    return figures


Figures = Annotated[list[float], BeforeValidator(_figures)]
"""One figure, or one for each scope of its metric, in their order."""


class PublishedMetric(Section):
    """A metric of ours that the source measured.

    A value may be half of `rounded_to` smaller or larger than stated, or up to all of `cut_to` larger.
    """

    scope: str | None = Field(None, min_length=1, description="the metric's scope, such as primaries")
    scopes: list[str] | None = Field(None, min_length=2, description="its scopes, such as questions, in their order")
    unit: str = Field(min_length=1, description="the metric's unit")
    rounded_to: float = Field(0, ge=0, description="what its values are rounded to, such as 0.01")
    cut_to: float = Field(0, ge=0, description="what its values are cut to, such as 1 where 44:57 stands as 44")

    @property
    def off(self) -> tuple[float, float]:
        """By how much a value may be smaller, and larger, than stated."""
        return self.rounded_to / 2, self.rounded_to / 2 + self.cut_to

    @model_validator(mode="after")
    def _has_a_scope(self) -> "PublishedMetric":
        if (self.scope is None) == (self.scopes is None):
            raise ValueError("expected one of `scope` and `scopes`")
        return self

    @property
    def all_scopes(self) -> list[str]:
        """Those for which a step has a value."""
        return self.scopes or [self.scope or ""]


class Comparison(Section):
    """Values of one metric that the source lays beside each other; `times` or `percent` as they are written there."""

    metric: str = Field(description="one of `metrics`")
    against: str = Field(description="another step, by its `name` or its variant")
    scopes: list[str] | None = Field(None, min_length=1, description="scopes of the metric, if not all")
    times: float | None = Field(None, ge=1, description="by how many times the source says that it changed")
    change: Literal["increase", "decrease"] | None = Field(None, description="increase or decrease, of `times`")
    percent: Figures | None = Field(None, description="the change in percent that the source states, for each scope")
    heading: str | None = Field(None, min_length=1, description="heading in the source, if not the step's")
    note: str | None = Field(None, min_length=1, description="what a reader must know")
    confounded: str | None = Field(
        None, min_length=1, description="what else differs, with the arithmetic that shows it"
    )

    @model_validator(mode="after")
    def _states_one_change(self) -> "Comparison":
        if (self.times is None) != (self.change is None):
            raise ValueError("got one of `times` and `change`, expected both or none")
        if self.times is not None and self.percent is not None:
            raise ValueError("got `times` and `percent`, expected one of them")
        return self


class Step(Section):
    """One setting that the source measured."""

    variant: str = Field(min_length=1, description="the profile, or the variant of a suite, that does the same")
    name: str | None = Field(
        None, min_length=1, description="what distinguishes it from other steps of the variant, such as another machine"
    )
    heading: str = Field(min_length=1, description="heading in the source")
    values: Mapping[str, Figures] = Field(min_length=1, description="by metric, a value or one for each of its scopes")
    compared: list[Comparison] = Field(default_factory=list, description="what the source compares it with")
    note: str | None = Field(None, min_length=1, description="what a reader must know")

    @property
    def key(self) -> str:
        """What comparisons call it."""
        return self.name or self.variant


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """A comparison of the source with both of its values.

    Attributes:
        source: Document and place.
        note: What a reader must know of the comparison and of the step; `None` where there is nothing.
        confounded: What else differs between the two; `None` where nothing is known to.
        off: By how much a value may be smaller, and larger, than stated.
    """

    variant: str
    against: str
    metric: str
    scope: str
    value: float
    against_value: float
    source: str
    note: str | None
    confounded: str | None
    off: tuple[float, float]

    @property
    def ratio(self) -> float:
        """The quotient of the two values, which is not always the one that the source states."""
        return self.value / self.against_value

    @property
    def rounded(self) -> tuple[float, float]:
        """The smallest and the largest quotient of what the two values may have been rounded or cut from."""
        less, more = self.off
        return (self.value - less) / (self.against_value + more), (self.value + more) / (self.against_value - less)


class Published(Section):
    """Published figures, as their file states them and checked."""

    title: str = Field(min_length=1, description="the document's title")
    published_by: str = Field(min_length=1, description="who published it, and where")
    measured_on: str = Field(min_length=1, description="machine, versions and number of runs")
    in_short: list[str] = Field(
        default_factory=list,
        max_length=4,
        description="what it measured, and how our suite differs, in sentences",
    )
    in_short_at_a_rate: list[str] = Field(
        default_factory=list,
        max_length=4,
        description="the same of a suite whose variants stream at a rate; `in_short` if not given",
    )
    caveats: list[str] = Field(default_factory=list, description="what it leaves open, and where our profiles differ")
    metrics: Mapping[str, PublishedMetric] = Field(min_length=1, description="what was measured, as we call it")
    steps: list[Step] = Field(min_length=1, description="the settings, in the order of the document")

    @property
    def variants(self) -> frozenset[str]:
        """Profiles, or variants of a suite, that its steps stand for."""
        return frozenset(step.variant for step in self.steps)

    @property
    def comparisons(self) -> Iterator[PublishedComparison]:
        """The comparisons that the source itself draws, scope by scope."""
        by_key = {step.key: step for step in self.steps}
        for step in self.steps:
            for drawn in step.compared:
                for scope in drawn.scopes or self.metrics[drawn.metric].all_scopes:
                    yield self._compared(step, by_key[drawn.against], drawn.metric, scope, drawn)

    def unstated(self, variant: str, against: str) -> Iterator[PublishedComparison]:
        """What the values of two steps give where the source itself does not compare them.

        A step with a name is one of several of its variant; which of them belong together, only the source says.
        """
        note = "The source does not compare these two; the quotient is that of its values."
        stated = {(other.variant, other.against, other.metric) for other in self.comparisons}
        alone = {step.variant: step for step in self.steps if step.name is None}
        if variant not in alone or against not in alone:
            return
        for metric in alone[variant].values:
            if metric in alone[against].values and (variant, against, metric) not in stated:
                for scope in self.metrics[metric].all_scopes:
                    compared = Comparison(metric=metric, against=against, note=note)
                    # Only its own note: those of the step are about what the source compares.
                    bare = alone[variant].model_copy(update={"note": None})
                    yield self._compared(bare, alone[against], metric, scope, compared)

    def value(self, step: Step, metric: str, scope: str) -> float:
        """The value of a step's metric in one scope."""
        return step.values[metric][self.metrics[metric].all_scopes.index(scope)]

    def _compared(self, step: Step, other: Step, metric: str, scope: str, drawn: Comparison) -> PublishedComparison:
        place = drawn.heading or step.heading
        return PublishedComparison(
            variant=step.variant,
            against=other.variant,
            metric=metric,
            scope=scope,
            value=self.value(step, metric, scope),
            against_value=self.value(other, metric, scope),
            source=f"{self.title} ({self.published_by}), {place}{f': {step.name}' if step.name else ''}",
            note=" ".join(note for note in (drawn.note, step.note) if note) or None,
            confounded=drawn.confounded,
            off=self.metrics[metric].off,
        )


def published_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all files of published figures, sorted."""
    return names_in(FOLDER, root)


def load_published(name: str, root: Path = REPOSITORY) -> Published:
    """The figures of a file of experiments/published, given without .yaml.

    Raises:
        ProfileError: Every problem of the file, a line each.
    """
    path = file_of(FOLDER, f"{name}.yaml", root)
    if not re.fullmatch(r"[\w-][\w.-]*", name) or not path.is_file():
        remedy = suggestion(name, published_names(root), "one of")
        raise ProfileError(f'unknown published figures "{name}", {remedy}')
    label = (FOLDER / path.name).as_posix()
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
    if any(step.key == earlier.key for earlier in file.steps[:position]):
        yield (
            ("steps", position, "name" if step.name else "variant"),
            f'"{step.key}" has a step already, expected each variant once',
        )
    for metric, stated in step.values.items():
        path = ("steps", position, "values", metric)
        if metric not in file.metrics:
            yield path, f'unknown metric "{metric}", {suggestion(metric, file.metrics, "one of `metrics`")}'
            continue
        least, scopes = file.metrics[metric].off[0], file.metrics[metric].all_scopes
        if len(stated) != len(scopes):
            yield path, f"got {len(stated)} values, expected {len(scopes)}: {', '.join(scopes)}"
        elif (lowest := min(stated)) <= least:
            yield path, f"got {lowest:g}, expected more than {least:g}"


def _of_comparisons(file: Published, position: int, step: Step) -> Iterator[tuple[TreePath, str]]:
    # Of two steps of one name the first counts; the second is a problem of its own.
    steps = {other.key: other for other in reversed(file.steps) if other.key != step.key}
    for place, compared in enumerate(step.compared):
        path = ("steps", position, "compared", place)
        others = [key for key, other in steps.items() if compared.metric in other.values]
        if compared.metric not in step.values:
            remedy = suggestion(compared.metric, step.values, "one of the step's `values`")
            yield (*path, "metric"), f'no value of "{compared.metric}", {remedy}'
        elif compared.against not in others:
            remedy = suggestion(compared.against, others, "the variant of a step")
            yield (*path, "against"), f'no value of "{compared.against}", {remedy}'
        elif compared.metric in file.metrics:
            yield from _of_scopes(file, path, compared, step, steps[compared.against])


def _of_scopes(
    file: Published, path: TreePath, compared: Comparison, step: Step, other: Step
) -> Iterator[tuple[TreePath, str]]:
    """Scopes that the metric does not have, and stated changes that are not those of its values and have no note."""
    known = file.metrics[compared.metric].all_scopes
    if any(len(each.values[compared.metric]) != len(known) for each in (step, other)):
        return
    scopes = compared.scopes or known
    for place, scope in enumerate(scopes):
        if scope not in known:
            yield (*path, "scopes", place), f'unknown scope "{scope}", {suggestion(scope, known, "one of")}'
            return
    stated = compared.percent or []
    if stated and len(stated) != len(scopes):
        yield (*path, "percent"), f"got {len(stated)} values, expected {len(scopes)}: {', '.join(scopes)}"
    elif not compared.note:
        values = [
            (file.value(step, compared.metric, each), file.value(other, compared.metric, each)) for each in scopes
        ]
        if all(ours > 0 and theirs > 0 for ours, theirs in values):
            ratios = [ours / theirs for ours, theirs in values]
            yield from _misquoted(path, compared, ratios)
            yield from _misprinted(path, scopes, stated, ratios)


def _misquoted(path: TreePath, compared: Comparison, ratios: list[float]) -> Iterator[tuple[TreePath, str]]:
    for ratio in ratios if compared.times is not None else ():
        times = ratio if compared.change == "increase" else 1 / ratio
        if abs(times - (compared.times or 0)) > ROUNDED * (compared.times or 0):
            yield (
                (*path, "times"),
                f"got {compared.times:g} ({compared.change}), expected {times:.4g} as the two values give, or a `note`"
                " that says where the source disagrees with itself",
            )


def _misprinted(
    path: TreePath, scopes: list[str], stated: list[float], ratios: list[float]
) -> Iterator[tuple[TreePath, str]]:
    for scope, change, ratio in zip(scopes, stated, ratios, strict=bool(stated)) if stated else ():
        if abs(change - 100 * (ratio - 1)) > OFF_PERCENT:
            yield (
                (*path, "percent"),
                f"{scope}: got {change:+g} %, expected {100 * (ratio - 1):+.3g} % as the two values give, or a `note`"
                " that says where the source disagrees with itself",
            )
