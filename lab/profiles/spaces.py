"""Spaces: which settings `tune` may change, and what it may try for each, read from experiments/spaces."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from lab.engines import DEFAULT, ENGINES
from lab.errors import ProfileError
from lab.profiles.checks import unknown_key
from lab.profiles.effects import effect_of
from lab.profiles.files import REPOSITORY, label_of, names_in, not_there, yaml_file
from lab.profiles.index_settings import known_settings
from lab.profiles.layers import OF_A_CONNECTOR, VERBATIM_SECTIONS, WITHOUT_USE_FOR_DIRECT
from lab.profiles.loader import effective, load_profile, override, split_key
from lab.profiles.located import Located
from lab.profiles.models import Profile, Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.suites import cell_name
from lab.profiles.yaml_model import TreePath, dotted, fields_at, read_model
from lab.records.tune import Candidate, LeftOut

FOLDER = Path("experiments") / "spaces"

SECTIONS = ("mapping", "topic", "producer", "sink", "elasticsearch", "index")
"""What a knob may be of: documents, load and engine are what candidates are compared with."""
ENGINE = frozenset({"elasticsearch.version", "elasticsearch.java", "elasticsearch.distribution"})

REPLICAS = "index.number_of_replicas"

THE_VALUE = "${value}"
"""In `requires`, the candidate's own value."""


class KnobEntry(Section):
    """A knob as a space's file states it."""

    values: list[JsonValue] = Field(min_length=1, description="the candidates: values to try")
    name: str | None = Field(None, min_length=1, description="what `--allow` calls it; its setting by default")
    requires: Mapping[str, JsonValue] = Field(
        default_factory=dict,
        description="settings that must move with it, by dotted key; a number is the least that it must be",
    )
    unsafe: bool = Field(default=False, description="whether it weakens a guarantee: tried only when allowed by name")
    risk: str | None = Field(None, min_length=1, description="what is risked, for an unsafe one")
    safe: list[JsonValue] = Field(
        default_factory=list, description="of an unsafe one, the values that weaken nothing: tried without `--allow`"
    )
    note: str | None = Field(None, min_length=1, description="what else changes for those who use the index")


class SpaceFile(Section):
    """A space as its file states it."""

    question: str = Field(min_length=1, description="what the space is for")
    knobs: Mapping[str, KnobEntry] = Field(
        min_length=1, description="by dotted setting of a profile, the values to try; the most promising ones first"
    )


@dataclass(frozen=True)
class Knob:
    """A setting and its candidates.

    Attributes:
        setting: Dotted key of a profile.
        name: What `--allow` calls it.
        risk: Of an unsafe one; `None` for every other.
        safe: Of an unsafe one, the values that weaken nothing.
    """

    setting: str
    name: str
    values: tuple[JsonValue, ...]
    requires: Mapping[str, JsonValue] = field(default_factory=dict)
    risk: str | None = None
    note: str | None = None
    safe: tuple[JsonValue, ...] = ()

    def candidates(self) -> Iterator[Candidate]:
        """One for each value."""
        for value in self.values:
            yield Candidate(
                name=cell_name({self.setting: value}),
                setting=self.setting,
                value=value,
                requires={key: value if needed == THE_VALUE else needed for key, needed in self.requires.items()},
                risk=None if value in self.safe else self.risk,
                note=self.note,
            )


@dataclass(frozen=True)
class Space:
    """A space, checked.

    Attributes:
        knobs: The most promising ones first: what there is no time for is left out from the end.
    """

    name: str
    question: str
    knobs: tuple[Knob, ...]


@dataclass(frozen=True)
class Start:
    """The profile that a search begins with, and that all it finds is compared with.

    Attributes:
        reference: Its name, or the path of its file.
        overrides: `dotted.key=value`, as for `--set`.
    """

    reference: str
    overrides: tuple[str, ...]
    profile: Profile
    root: Path = REPOSITORY

    @classmethod
    def of(cls, reference: str, overrides: Sequence[str] = (), root: Path = REPOSITORY) -> "Start":
        """The start by its name, checked.

        Raises:
            ProfileError: Every problem of the profile, a line each.
        """
        return cls(reference, tuple(overrides), load_profile(reference, overrides=overrides, root=root), root)

    def changed(self, settings: Mapping[str, JsonValue]) -> "Start":
        """The same with other values of some settings."""
        added = tuple(override(key, value) for key, value in settings.items())
        return Start.of(self.reference, (*self.overrides, *added), self.root)

    def settings(self, candidates: Iterable[Candidate]) -> dict[str, JsonValue]:
        """What these candidates set together, with all that they require.

        A number that is required is the least: what is larger already, here or by another candidate, stays.
        """
        chosen = list(candidates)
        values: dict[str, JsonValue] = {each.setting: each.value for each in chosen}
        now = {value.key: value.value for value in effective(self.profile)}
        for each in chosen:
            for key, needed in each.requires.items():
                values[key] = least_needed(values.get(key, now.get(key)), needed)
        return values


def least_needed(present: Any, needed: JsonValue) -> JsonValue:
    """What is needed, or what is there if that is a larger number."""
    numbers = [value for value in (present, needed) if isinstance(value, int | float) and not isinstance(value, bool)]
    return max(numbers) if len(numbers) == 2 else needed


def space_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all spaces, sorted."""
    return names_in(FOLDER, root)


def load_space(name_or_path: str, *, root: Path = REPOSITORY) -> Space:
    """A space, checked.

    Args:
        name_or_path: A name below experiments/spaces, or the path of a YAML file.

    Raises:
        ProfileError: Every problem of the file, a line each.
    """
    path = yaml_file(name_or_path, FOLDER, root)
    if path is None:
        raise ProfileError(not_there(name_or_path, "space", space_names(root)))
    file, tree, problems = read_model(path, label_of(path, root), SpaceFile, what="a space")
    if file is None:
        raise refusal(problems)
    if problems := list(_problems(file, tree)):
        raise refusal(problems)
    knobs = (
        Knob(
            setting,
            entry.name or setting,
            tuple(entry.values),
            entry.requires,
            entry.risk,
            entry.note,
            tuple(entry.safe),
        )
        for setting, entry in file.knobs.items()
    )
    name = path.stem if name_or_path.endswith(path.suffix) else name_or_path
    return Space(name, file.question, tuple(knobs))


def _problems(file: SpaceFile, tree: Located) -> Iterator[Problem]:
    """Knobs that are no settings, that share a name, or of which nobody says what is risked."""
    names: set[str] = set()
    for setting, entry in file.knobs.items():
        path = ("knobs", setting)
        keys = {setting: path, **{key: (*path, "requires", key) for key in entry.requires}}
        for key, place in keys.items():
            if message := setting_problem(key):
                yield Problem(tree.place_of(*place), dotted(place), message)
        if (name := entry.name or setting) in names:
            yield Problem(tree.place_of(*path), dotted(path), f'two knobs are called "{name}", expected another `name`')
        names.add(name)
        if entry.unsafe != (entry.risk is not None):
            message = "missing, expected what is risked" if entry.unsafe else "expected `unsafe: true` beside it"
            yield Problem(tree.place_of(*path, "risk"), dotted((*path, "risk")), message)
        for position, value in enumerate(entry.values):
            if value in entry.values[:position]:
                at: TreePath = (*path, "values", position)
                yield Problem(tree.place_of(*at), dotted(at), f"got {json.dumps(value)} again, expected it once")


def setting_problem(key: str) -> str | None:
    """Why a dotted key is no setting that a search may change; `None` if it is one."""
    path = split_key(key)
    if path[0] not in SECTIONS or key in ENGINE:
        if path[0] not in Profile.model_fields:
            return unknown_key(path)
        same = "documents, load and engine are the same for all candidates"
        return f"cannot be a knob, expected a setting of {', '.join(f'`{name}`' for name in SECTIONS)}: {same}"
    if fields_at(Profile, path) or path in VERBATIM_SECTIONS:
        return "is a section, expected one of its settings"
    if path[0] == "index":
        return _index_problem(path[1])
    is_verbatim = any(path[: len(section)] == section for section in VERBATIM_SECTIONS)
    return None if is_verbatim or path[-1] in fields_at(Profile, path[:-1]) else unknown_key(path)


def _index_problem(name: str) -> str | None:
    """Why no release of any engine has an index setting; `None` if one has."""
    if any(known_settings(engine).releases_of(name) for engine in ENGINES):
        return None
    return known_settings().complaint(name, DEFAULT.numbers)


def allowed_problem(space: Space, allowed: Iterable[str]) -> str | None:
    """Why a name cannot be allowed in a space; `None` if all can."""
    unsafe = {knob.name for knob in space.knobs if knob.risk}
    for name in allowed:
        if name not in unsafe:
            return f'unknown unsafe knob "{name}", {suggestion(name, unsafe, "one of")}'
    return None


def candidates_of(
    space: Space, start: Start, allowed: Collection[str] = ()
) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """What may be tried from a start, and what may not, with the reason.

    What is the same in effect as the start, or as another candidate, is neither.

    Raises:
        ProfileError: A candidate's value is refused, with the reason as for a profile.
    """
    tried, left_out = [], []
    effects = {effect_of(start.profile, start.root)}
    for knob in space.knobs:
        for candidate in knob.candidates():
            if lack := _without_use(knob.setting, start.profile):
                left_out.append(LeftOut(name=candidate.name, reason=lack))
            elif (effect := effect_of(_changed(space, start, candidate), start.root)) in effects:
                continue
            elif knob.setting == REPLICAS and candidate.value not in range(start.profile.elasticsearch.data_nodes):
                continue  # No node of this cluster would hold it.
            elif candidate.risk and knob.name not in allowed:
                reason = f"it is unsafe: {knob.risk}; to try it: --allow {knob.name}"
                left_out.append(LeftOut(name=candidate.name, reason=reason))
            else:
                tried.append(candidate)
                effects.add(effect)
    return tuple(tried), tuple(left_out)


def _changed(space: Space, start: Start, candidate: Candidate) -> Profile:
    try:
        return start.changed(start.settings([candidate])).profile
    except ProfileError as error:
        lines = str(error).splitlines()
        raise ProfileError("\n".join(f"space {space.name}: {candidate.name}: {line}" for line in lines)) from error


def _without_use(setting: str, profile: Profile) -> str | None:
    """Why a setting says nothing to a profile; `None` if it does."""
    section, *names = split_key(setting)
    if not profile.load.uses_kafka and section in WITHOUT_USE_FOR_DIRECT:
        return f"a load via {profile.load.via} has no `{section}`"
    if profile.sink.command and section == "sink" and names[0] in OF_A_CONNECTOR:
        return "the sink is a command, which has no such setting"
    if profile.sink.pipeline and section == "sink" and names[0] in ("connector", "plugin_path"):
        return "the sink is a pipeline, which has no such setting"
    return None
