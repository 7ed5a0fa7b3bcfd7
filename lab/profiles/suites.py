"""Suites: which profiles are held against each other, how often, and against what, read from experiments/suites."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, JsonValue, PositiveInt, ValidationError, field_validator
from pydantic_core import ErrorDetails

from lab.errors import ProfileError
from lab.profiles.loader import REPOSITORY, load_profile, override
from lab.profiles.located import Located, read_yaml
from lab.profiles.models import Profile, Section
from lab.profiles.problems import Place, Problem, nearest, refusal, suggestion
from lab.profiles.wording import shown

AGAIN = " (again)"
"""Ends the name of the variant that is the control once more."""

METRICS = ("indexing_rate_docs_per_s/primaries", "indexing_latency_ms/primaries")
_VERBATIM = (
    "index.",
    "sink.config.",
    "topic.config.",
    "producer.client.",
    "elasticsearch.cluster_settings.",
    "elasticsearch.node_settings.",
)
_SUFFIX = ".yaml"


class VariantEntry(Section):
    """A variant as a suite's file states it."""

    profile: str = Field(description="the name of a profile")
    name: str | None = Field(
        None, min_length=1, description="what the variant is called; the profile's name by default"
    )
    set: Mapping[str, JsonValue] = Field(default_factory=dict, description="values of the profile, by dotted key")
    against: str | None = Field(None, description="the variant it is compared with; the control by default")


class Grid(Section):
    """A factor grid: every combination of the factors' levels is a variant of one profile."""

    profile: str = Field(description="the name of a profile")
    factors: Mapping[str, list[JsonValue]] = Field(
        min_length=1, description="levels by dotted key of the profile, such as `sink.config.batch.size: [500, 2000]`"
    )


class SuiteFile(Section):
    """A suite as its file states it."""

    question: str = Field(min_length=1, description="the question that the suite answers")
    control: str = Field(description="the variant that stands for nothing changed")
    variants: list[VariantEntry] = Field(default_factory=list, description="profiles, or mappings with `profile`")
    grid: Grid | None = Field(None, description="a profile and its factors")
    set: Mapping[str, JsonValue] = Field(default_factory=dict, description="values of all profiles, by dotted key")
    repeats: PositiveInt = Field(5, description="how often each variant runs")
    seed: int = Field(1, ge=0, description="the same seed gives the same order")
    repeat_control: bool = Field(
        default=True, description="whether the control runs twice in each block, as a check of the method (A/A)"
    )
    metrics: list[str] = Field(
        default_factory=lambda: list(METRICS), min_length=1, description="what is compared: `name/scope`"
    )
    published: str | None = Field(None, description="a file of experiments/published, without .yaml")

    @field_validator("variants", mode="before")
    @classmethod
    def _entries(cls, stated: object) -> object:
        """The name of a profile stands for a variant that changes nothing of it."""
        if not isinstance(stated, list):
            return stated
        return [{"profile": entry} if isinstance(entry, str) else entry for entry in stated]


@dataclass(frozen=True)
class SuiteVariant:
    """A variant with its profile, checked."""

    name: str
    profile: Profile
    overrides: tuple[str, ...]
    against: str | None


@dataclass(frozen=True)
class Suite:
    """A suite, checked, all of its variants expanded.

    Attributes:
        variants: The control first, then in the order of the file; the control's repetition is one of them.
        metrics: (name, scope) of each metric, most important first.
    """

    name: str
    question: str
    control: str
    repetition: str | None
    variants: tuple[SuiteVariant, ...]
    repeats: int
    seed: int
    metrics: tuple[tuple[str, str], ...]
    published: str | None


class ListedSuite(NamedTuple):
    """A suite and its question; `question` says so when the file cannot be read."""

    name: str
    question: str


def suites_folder(root: Path) -> Path:
    """Where the suites of the repository are."""
    return root / "experiments" / "suites"


def suite_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all suites, sorted."""
    folder = suites_folder(root)
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob(f"*{_SUFFIX}"))


def list_suites(root: Path = REPOSITORY) -> list[ListedSuite]:
    """Every suite with its question, by name."""
    return [ListedSuite(name, _question(name, root)) for name in suite_names(root)]


def load_suite(name_or_path: str, *, overrides: tuple[str, ...] = (), root: Path = REPOSITORY) -> Suite:
    """A suite with all of its variants expanded and their profiles checked.

    Args:
        name_or_path: A name below experiments/suites, or the path of a YAML file.
        overrides: `dotted.key=value` for every profile; they win over all that the files say.

    Raises:
        ProfileError: Every problem of the suite and of its profiles, a line each.
    """
    path = _path(name_or_path, root)
    label = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    tree, problems = read_yaml(
        path.read_text(encoding="utf-8"), Place(label, 1), lambda mark: Place(label, mark.line + 1)
    )
    if tree is None or problems:
        raise refusal(problems)
    if not isinstance(tree.value, dict):
        raise refusal([Problem(tree.place, "", "got no mapping, expected the keys of a suite")])
    try:
        file = SuiteFile.model_validate(tree.plain())
    except ValidationError as error:
        raise refusal([_problem(details, tree) for details in error.errors(include_url=False)]) from error
    return _Expansion(file, tree, root, overrides).suite(path.stem if path.suffix else name_or_path)


def _question(name: str, root: Path) -> str:
    path = suites_folder(root) / f"{name}{_SUFFIX}"
    tree, _ = read_yaml(path.read_text(encoding="utf-8"), Place(name), lambda _: Place(name))
    question = tree.at("question") if tree is not None else None
    return str(question.value) if question is not None else "states no question"


def _path(name_or_path: str, root: Path) -> Path:
    if name_or_path.endswith((_SUFFIX, ".yml")):
        path = Path(name_or_path)
        if not path.is_file():
            raise ProfileError(f"{name_or_path}: no such file, expected a suite")
        return path.resolve()
    path = suites_folder(root) / f"{name_or_path}{_SUFFIX}"
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name_or_path) or ".." in name_or_path or not path.is_file():
        raise ProfileError(f'unknown suite "{name_or_path}", {suggestion(name_or_path, suite_names(root), "a suite")}')
    return path


# --- what is wrong with a file --------------------------------------------------------------------------------------


def _problem(details: ErrorDetails, tree: Located) -> Problem:
    path = details["loc"]
    entry, place = _find(tree, path)
    key = ".".join(map(str, path))
    kind = details["type"]
    if kind == "missing":
        return Problem(place, key, f"missing, expected {_described(path)}")
    if kind == "extra_forbidden":
        known = _names(path[:-1])
        match = nearest(str(path[-1]), known)
        said = f"did you mean `{match}`?" if match else suggestion(str(path[-1]), known, "one of")
        return Problem(place, key, f"unknown key, {said}")
    least = {"greater_than": "1", "greater_than_equal": "0"}.get(kind)
    expected = f"a whole number from {least} on" if least else _described(path)
    return Problem(place, key, f"got {shown(details['input'], entry)}, expected {expected}")


def _find(tree: Located, path: tuple[int | str, ...]) -> tuple[Located | None, Place]:
    """The entry under a path, and its place or that of the nearest thing around it."""
    entry: Located | None = tree
    place = tree.place
    for part in path:
        if entry is not None and isinstance(part, int) and isinstance(entry.value, list):
            entry = entry.value[part]
        else:
            entry = entry.entries.get(str(part)) if entry is not None else None
        place = entry.place if entry is not None else place
    return entry, place


def _model(path: tuple[int | str, ...]) -> type[Section]:
    sections: Mapping[str, type[Section]] = {"variants": VariantEntry, "grid": Grid}
    return sections.get(str(path[0]), SuiteFile) if path else SuiteFile


def _names(path: tuple[int | str, ...]) -> frozenset[str]:
    return frozenset(_model(path).model_fields)


def _described(path: tuple[int | str, ...]) -> str:
    field = _model(path[:-1]).model_fields.get(str(path[-1])) if path else None
    field = field or SuiteFile.model_fields.get(str(path[0]))
    return (field.description if field is not None else None) or "something else"


# --- from a file to variants ----------------------------------------------------------------------------------------


class _Expansion:
    """Makes the variants of one file, and collects what is wrong with them."""

    def __init__(self, file: SuiteFile, tree: Located, root: Path, overrides: tuple[str, ...]) -> None:
        self.file = file
        self.tree = tree
        self.root = root
        self.overrides = overrides
        self.problems: list[Problem] = []

    def suite(self, name: str) -> Suite:
        """The whole suite.

        Raises:
            ProfileError: Every problem.
        """
        variants = list(self.variants())
        names = [variant.name for variant in variants]
        self.check_names(names)
        metrics = [self.metric(position, text) for position, text in enumerate(self.file.metrics)]
        if self.problems:
            raise refusal(self.problems)
        control = next(variant for variant in variants if variant.name == self.file.control)
        repetition = f"{control.name}{AGAIN}" if self.file.repeat_control else None
        ordered = [_as_control(control), *(variant for variant in variants if variant is not control)]
        if repetition:
            ordered.insert(1, SuiteVariant(repetition, control.profile, control.overrides, control.name))
        return Suite(
            name=name,
            question=self.file.question,
            control=control.name,
            repetition=repetition,
            variants=tuple(ordered),
            repeats=self.file.repeats,
            seed=self.file.seed,
            metrics=tuple(metrics),
            published=self.file.published,
        )

    def variants(self) -> Iterator[SuiteVariant]:
        """Those of the list, then those of the grid."""
        for position, stated in enumerate(self.file.variants):
            place = _find(self.tree, ("variants", position))[1]
            made = self.variant(stated, place)
            if made is not None:
                yield made
        if self.file.grid is not None:
            yield from self.cells(self.file.grid)

    def cells(self, grid: Grid) -> Iterator[SuiteVariant]:
        """One variant for each combination of levels."""
        place = _find(self.tree, ("grid",))[1]
        keys = list(grid.factors)
        for levels in itertools.product(*grid.factors.values()):
            values = dict(zip(keys, levels, strict=True))
            name = " ".join(f"{short_key(key)}={_plain(value)}" for key, value in values.items())
            made = self.variant(VariantEntry(profile=grid.profile, name=name, set=values), place)
            if made is None:
                return
            yield made

    def variant(self, entry: VariantEntry, place: Place) -> SuiteVariant | None:
        """A variant, its profile checked; `None` when that has problems, which are then collected."""
        values = {**self.file.set, **entry.set}
        overrides = (*(override(key, value) for key, value in values.items()), *self.overrides)
        try:
            profile = load_profile(entry.profile, overrides=overrides, root=self.root)
        except ProfileError as error:
            self.problems += [Problem(place, "", line) for line in str(error).splitlines()]
            return None
        name = entry.name or entry.profile
        against = entry.against or self.file.control
        return SuiteVariant(name, profile, overrides, against)

    def check_names(self, names: list[str]) -> None:
        """Whether names are unique, and whether those that others refer to are there."""
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.refuse("variants", f'two variants are called "{name}", expected a `name` for one of them')
        if self.problems:
            return
        if not names:
            self.refuse("variants", "got no variant, expected `variants` or a `grid`")
        elif self.file.control not in names:
            self.refuse(
                "control", f'unknown variant "{self.file.control}", {suggestion(self.file.control, names, "one")}'
            )
        for position, stated in enumerate(self.file.variants):
            if stated.against is not None and stated.against not in names:
                place = _find(self.tree, ("variants", position, "against"))[1]
                message = f'unknown variant "{stated.against}", {suggestion(stated.against, names, "one")}'
                self.problems.append(Problem(place, f"variants.{position}.against", message))

    def refuse(self, key: str, message: str) -> None:
        """Collect a problem of a key of the file."""
        self.problems.append(Problem(_find(self.tree, (key,))[1], key, message))

    def metric(self, position: int, text: str) -> tuple[str, str]:
        """Name and scope of a metric."""
        name, slash, scope = text.partition("/")
        if not (name and slash and scope):
            place = _find(self.tree, ("metrics", position))[1]
            self.problems.append(
                Problem(place, f"metrics.{position}", f'got "{text}", expected `name/scope`, such as `{METRICS[0]}`')
            )
        return name, scope


def _as_control(variant: SuiteVariant) -> SuiteVariant:
    return SuiteVariant(variant.name, variant.profile, variant.overrides, None)


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def short_key(key: str) -> str:
    """A dotted key as a variant's name has it: without its section."""
    for section in _VERBATIM:
        if key.startswith(section):
            return key.removeprefix(section)
    return key.partition(".")[2] or key
