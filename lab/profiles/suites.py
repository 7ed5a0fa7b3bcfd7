"""Suites: which profiles are held against each other, how often, and against what, read from experiments/suites."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue, PositiveInt
from pydantic_core import PydanticCustomError

from lab.errors import ProfileError
from lab.profiles.effects import effect_of
from lab.profiles.files import REPOSITORY, file_of, label_of, names_in, not_there, yaml_file
from lab.profiles.layers import VERBATIM_SECTIONS
from lab.profiles.loader import ListEntry, list_entry, load_profile, override
from lab.profiles.loads import checked_rate
from lab.profiles.located import Located
from lab.profiles.models import Profile, Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.yaml_model import TreePath, dotted, read_model

FOLDER = Path("experiments") / "suites"

AGAIN = " (again)"
"""Ends the name of the variant that is the control once more."""


def _metric(text: object) -> object:
    name, _, scope = text.partition("/") if isinstance(text, str) else ("", "", "")
    if not (name and scope):
        raise PydanticCustomError("metric", "`name/scope`, such as `indexing_rate_docs_per_s/primaries`")
    return name, scope


def rate_docs_per_s(rate: str, limit_docs_per_s: float) -> float:
    """A checked rate in documents per second, where servers take so many."""
    number, percent, _ = rate.partition(" %")
    return float(number) / 100 * limit_docs_per_s if percent else float(number)


Rate = Annotated[str, BeforeValidator(checked_rate)]


class VariantEntry(Section):
    """A variant as a suite's file states it."""

    profile: str = Field(description="the name of a profile")
    name: str | None = Field(
        None, min_length=1, description="what the variant is called; the profile's name by default"
    )
    set: Mapping[str, JsonValue] = Field(default_factory=dict, description="values of the profile, by dotted key")
    against: str | None = Field(None, description="the variant it is compared with; the control by default")
    reference: bool = Field(default=False, description="whether it is only there for others to be compared with")
    factor: str | None = Field(None, min_length=1, description="what it changes, such as `replicas`; see the report")
    part: str = Field("", description="part of the suite, with servers of its own; parts run one after the other")


def _entry(value: object) -> object:
    """The name of a profile stands for a variant that changes nothing of it."""
    if isinstance(value, str):
        return {"profile": value}
    if not isinstance(value, Mapping):
        raise PydanticCustomError("variant_entry", "a profile, or a mapping with `profile`")
    return value


class Grid(Section):
    """A factor grid: every combination of the factors' levels is a variant of one profile."""

    profile: str = Field(description="the name of a profile")
    factors: Mapping[str, list[JsonValue]] = Field(
        min_length=1, description="levels by dotted key of the profile, such as `sink.config.batch.size: [500, 2000]`"
    )


class Pairs(Section):
    """Two or more levels of one factor, held against the first of them at every level of others."""

    profile: str = Field(description="the name of a profile")
    factor: str = Field(min_length=1, description="what changes, in words")
    levels: Mapping[str, Mapping[str, JsonValue]] = Field(
        min_length=2, description="by name, what each sets; the first is what the others are compared with"
    )
    at: Mapping[str, Mapping[str, JsonValue]] = Field(
        min_length=1, description="by name, what each setting in which they are compared sets"
    )


class Crossing(Section):
    """Where one level of a factor begins to win: the value of another metric at which the ratio passes 1."""

    factor: str = Field(description="a factor of the variants")
    metric: Annotated[tuple[str, str], BeforeValidator(_metric)] = Field(description="what decides: `name/scope`")
    over: Annotated[tuple[str, str], BeforeValidator(_metric)] = Field(
        description="along which metric, as measured for the reference: `name/scope`"
    )


class SuiteFile(Section):
    """A suite as its file states it."""

    question: str = Field(min_length=1, description="the question that the suite answers")
    control: str = Field(description="the variant in which nothing is changed")
    variants: list[Annotated[VariantEntry, BeforeValidator(_entry)]] = Field(
        default_factory=list, description="profiles, or mappings with `profile`"
    )
    grid: Grid | None = Field(None, description="a profile and its factors")
    pairs: list[Pairs] = Field(default_factory=list, description="levels of a factor, compared in several settings")
    crossings: list[Crossing] = Field(default_factory=list, description="where one level of a factor begins to win")
    set: Mapping[str, JsonValue] = Field(default_factory=dict, description="values of all profiles, by dotted key")
    window_s: float | None = Field(
        None,
        gt=0,
        description="the shortest time of a drain; all drains get more documents until they take that long",
    )
    rate: Rate | None = Field(
        None,
        description="streams instead of drains: documents per second (`600`), or `70 %` of the control's limit",
    )
    repeats: PositiveInt | None = Field(
        None, description="how often each variant runs; 5 unless `minutes` or `precision` is stated"
    )
    minutes: float | None = Field(None, gt=0, description="the longest time of the suite, warm-up included")
    precision: float | None = Field(
        None,
        gt=0,
        le=1,
        description="relative half-width of an interval of the first metric that is narrow enough, such as 0.05",
    )
    seed: int = Field(1, ge=0, description="the same seed gives the same order")
    repeat_control: bool = Field(
        default=True, description="whether the control runs twice in each block, as a check of the method (A/A)"
    )
    metrics: list[Annotated[tuple[str, str], BeforeValidator(_metric)]] = Field(
        default=[("indexing_rate_docs_per_s", "primaries"), ("indexing_latency_ms", "primaries")],
        min_length=1,
        description="what is compared: `name/scope`",
    )
    published: str | None = Field(None, description="a file of experiments/published, without .yaml")


@dataclass(frozen=True)
class SuiteVariant:
    """A variant with its profile, checked; `against` is `None` for the control and for other references.

    Attributes:
        part: Variants of other parts run earlier or later, on other servers.
    """

    name: str
    profile: Profile
    overrides: tuple[str, ...]
    against: str | None
    factor: str | None = None
    part: str = ""


REPEATS = 5
PRECISION = 0.05


@dataclass(frozen=True)
class Measures:
    """How much is measured: either so many repeats, or until intervals are narrow enough or time is over.

    Attributes:
        repeats: `None` with the other two.
        precision: Relative half-width of an interval of the first metric that is narrow enough.
    """

    repeats: int | None = None
    minutes: float | None = None
    precision: float | None = None

    @classmethod
    def of(cls, repeats: int | None, minutes: float | None, precision: float | None) -> "Measures":
        """What a suite's file asks for."""
        if minutes is None and precision is None:
            return cls(repeats=repeats or REPEATS)
        return cls(minutes=minutes, precision=PRECISION if precision is None else precision)

    def changed(self, stated: "Measures") -> "Measures":
        """The same with what somebody has stated instead: another time keeps the width, and another width the time."""
        if stated.repeats is not None:
            return stated
        if stated.minutes is None and stated.precision is None:
            return self
        minutes = self.minutes if stated.minutes is None else stated.minutes
        return Measures.of(None, minutes, self.precision if stated.precision is None else stated.precision)


@dataclass(frozen=True)
class Suite:
    """A suite, checked, all of its variants expanded.

    Attributes:
        variants: The control first, then in the order of the file; the control's repetition is one of them.
        measures: How much is measured.
        metrics: (name, scope) of each metric, most important first.
        rate: Of the streams in place of its drains; `None` for drains.
    """

    name: str
    question: str
    control: str
    repetition: str | None
    variants: tuple[SuiteVariant, ...]
    measures: Measures
    seed: int
    metrics: tuple[tuple[str, str], ...]
    published: str | None
    crossings: tuple[Crossing, ...] = ()
    window_s: float | None = None
    rate: str | None = None

    @property
    def parts(self) -> dict[str, str]:
        """Variant → its part."""
        return {variant.name: variant.part for variant in self.variants}


def suite_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all suites, sorted."""
    return names_in(FOLDER, root)


def list_suites(root: Path = REPOSITORY) -> list[ListEntry]:
    """Every suite with its question, by name."""
    return [list_entry(name, file_of(FOLDER, f"{name}.yaml", root), root) for name in suite_names(root)]


def load_suite(name_or_path: str, *, overrides: tuple[str, ...] = (), root: Path = REPOSITORY) -> Suite:
    """A suite with all of its variants expanded and their profiles checked.

    Args:
        name_or_path: A name below experiments/suites, or the path of a YAML file.
        overrides: `dotted.key=value` for every profile; they win over all that the files say.

    Raises:
        ProfileError: Every problem of the suite and of its profiles, a line each.
    """
    path = yaml_file(name_or_path, FOLDER, root)
    if path is None:
        raise ProfileError(not_there(name_or_path, "suite", suite_names(root)))
    file, tree, problems = read_model(path, label_of(path, root), SuiteFile, what="a suite")
    if file is None:
        raise refusal(problems)
    return Expansion(file, tree, root, overrides).suite(
        path.stem if name_or_path.endswith(path.suffix) else name_or_path
    )


# --- from a file to variants ----------------------------------------------------------------------------------------


@dataclass
class Expansion:
    """Makes the variants of one file, and collects what is wrong with them."""

    file: SuiteFile
    tree: Located
    root: Path
    overrides: tuple[str, ...]
    problems: list[Problem] = field(default_factory=list)
    paths: dict[str, TreePath] = field(default_factory=dict)
    """Variant → the part of the file that makes it."""

    def suite(self, name: str) -> Suite:
        """The whole suite.

        Raises:
            ProfileError: Every problem.
        """
        variants = list(self.variants())
        names = [variant.name for variant in variants]
        self.check_names(names)
        self.check_parts(variants)
        self.check_effects(variants)
        if self.problems:
            raise refusal(self.problems)
        control = next(variant for variant in variants if variant.name == self.file.control)
        repetition = f"{control.name}{AGAIN}" if self.file.repeat_control else None
        ordered = [replace(control, against=None), *(variant for variant in variants if variant is not control)]
        if repetition:
            ordered.insert(1, replace(control, name=repetition, against=control.name, factor=None))
        return Suite(
            name=name,
            question=self.file.question,
            control=control.name,
            repetition=repetition,
            variants=tuple(ordered),
            measures=Measures.of(self.file.repeats, self.file.minutes, self.file.precision),
            seed=self.file.seed,
            metrics=tuple(self.file.metrics),
            published=self.file.published,
            crossings=tuple(self.file.crossings),
            window_s=self.file.window_s,
            rate=self.file.rate,
        )

    def variants(self) -> Iterator[SuiteVariant]:
        """Those of the list, those of the grid, then those of the pairs."""
        for position, entry in enumerate(self.file.variants):
            variant = self.variant(entry, ("variants", position))
            if variant is not None:
                yield variant
        if self.file.grid is not None:
            yield from self.cells(self.file.grid)
        for position, pairs in enumerate(self.file.pairs):
            yield from self.levels(pairs, ("pairs", position))

    def cells(self, grid: Grid) -> Iterator[SuiteVariant]:
        """One variant for each combination of levels."""
        keys = list(grid.factors)
        for levels in itertools.product(*grid.factors.values()):
            values = dict(zip(keys, levels, strict=True))
            variant = self.variant(VariantEntry(profile=grid.profile, name=cell_name(values), set=values), ("grid",))
            if variant is None:
                return
            yield variant

    def levels(self, pairs: Pairs, path: TreePath) -> Iterator[SuiteVariant]:
        """Every level in every setting: `best_compression, 4×`, compared with the first level there."""
        first = next(iter(pairs.levels))
        for setting, others in pairs.at.items():
            for level, values in pairs.levels.items():
                entry = VariantEntry(
                    profile=pairs.profile,
                    name=f"{level}, {setting}",
                    set={**others, **values},
                    against=None if level == first else f"{first}, {setting}",
                    reference=level == first,
                    factor=pairs.factor,
                )
                variant = self.variant(entry, path)
                if variant is None:
                    return
                yield variant

    def variant(self, entry: VariantEntry, path: TreePath) -> SuiteVariant | None:
        """A variant, its profile checked; `None` when that has problems, which are then collected."""
        values = {**self.file.set, **entry.set}
        overrides = (*(override(key, value) for key, value in values.items()), *self.overrides)
        try:
            profile = load_profile(entry.profile, overrides=overrides, root=self.root)
        except ProfileError as error:
            place = self.tree.place_of(*path)
            self.problems += [Problem(place, "", line) for line in str(error).splitlines()]
            return None
        against = None if entry.reference else entry.against or self.file.control
        name = entry.name or entry.profile
        self.paths[name] = path
        return SuiteVariant(name, profile, overrides, against, entry.factor, entry.part)

    def check_names(self, names: list[str]) -> None:
        """Whether names are unique, and whether those that others refer to are there."""
        repetition = [f"{self.file.control}{AGAIN}"] if self.file.repeat_control else []
        for name, count in sorted(Counter([*names, *repetition]).items()):
            if count > 1:
                self.refuse(("variants",), f'two variants are called "{name}", expected a `name` for one of them')
        if self.problems:
            return
        if not names:
            self.refuse(("variants",), "got no variant, expected `variants` or a `grid`")
            return
        references: dict[TreePath, str | None] = {
            ("control",): self.file.control,
            **{("variants", position, "against"): entry.against for position, entry in enumerate(self.file.variants)},
        }
        self.check_crossings()
        self.check_measures()
        for path, reference in references.items():
            if reference is not None and reference not in names:
                self.refuse(path, f'unknown variant "{reference}", {suggestion(reference, names, "one")}')

    def check_parts(self, variants: Sequence[SuiteVariant]) -> None:
        """Whether what is compared is of one part: it would run at other times, on other servers."""
        parts = {variant.name: variant.part for variant in variants}
        places = {entry.name or entry.profile: position for position, entry in enumerate(self.file.variants)}
        for variant in variants:
            against = variant.against if variant.name != self.file.control else None
            if against in parts and parts[against] != variant.part:
                position = places.get(variant.name)
                other = parts[against] or "the first part"
                self.refuse(
                    ("control",) if position is None else ("variants", position, "part"),
                    f'"{variant.name}" is of part "{variant.part}", expected that of "{against}", which it is compared '
                    f"with: {other}",
                )

    def check_effects(self, variants: Sequence[SuiteVariant]) -> None:
        """Refuse two variants that are compared, with each other or with a third one, and are the same in effect."""
        if self.problems:
            return
        effects = {variant.name: effect_of(variant.profile, self.root) for variant in variants}
        for place, variant in enumerate(variants):
            for other in variants[:place]:
                are_compared = variant.name == other.against or other.name == variant.against
                have_same_control = variant.against is not None and variant.against == other.against
                is_named_so = variant.name.endswith(AGAIN) or other.name.endswith(AGAIN)
                is_same = variant.part == other.part and effects[variant.name] == effects[other.name]
                if is_same and (are_compared or have_same_control) and not is_named_so:
                    self.refuse(
                        self.paths[variant.name],
                        f'variants "{other.name}" and "{variant.name}" are the same in effect, expected a difference; '
                        "for a check of the method (A/A), `repeat_control` runs the control twice",
                    )

    def check_measures(self) -> None:
        """Whether the number of runs is decided in one way only."""
        if self.file.repeats and (self.file.minutes or self.file.precision):
            self.refuse(("repeats",), "got `repeats` beside `minutes` or `precision`, expected either")

    def check_crossings(self) -> None:
        """Whether what a crossing names is turned and compared by the suite."""
        factors = {entry.factor for entry in self.file.variants if entry.factor}
        factors |= {pairs.factor for pairs in self.file.pairs}
        metrics = {"/".join(metric) for metric in self.file.metrics}
        for position, wanted in enumerate(self.file.crossings):
            names = {"metric": "/".join(wanted.metric), "over": "/".join(wanted.over)}
            if wanted.factor not in factors:
                remedy = suggestion(wanted.factor, factors, "a factor")
                self.refuse(("crossings", position, "factor"), f'unknown factor "{wanted.factor}", {remedy}')
            for key, name in names.items():
                if name not in metrics:
                    remedy = suggestion(name, metrics, "one of `metrics`")
                    self.refuse(("crossings", position, key), f'unknown metric "{name}", {remedy}')

    def refuse(self, path: TreePath, message: str) -> None:
        """Collect a problem of a value of the file."""
        self.problems.append(Problem(self.tree.place_of(*path), dotted(path), message))


def cell_name(values: Mapping[str, JsonValue]) -> str:
    """What a combination of levels is called: `tasks=2 batch.size=500`."""
    return " ".join(
        f"{short_key(key)}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()
    )


def short_key(key: str) -> str:
    """A dotted key as a variant's name has it: without its section."""
    for section in VERBATIM_SECTIONS:
        prefix = ".".join(section) + "."
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return key.partition(".")[2] or key
