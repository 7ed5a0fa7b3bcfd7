"""From the name of a profile to the profile: find, read, lay over each other, check."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from lab.errors import ProfileError
from lab.profiles.checks import checked
from lab.profiles.datasets import dataset_in
from lab.profiles.files import REPOSITORY, file_of, folders, label_of, names_in, not_there, yaml_file
from lab.profiles.layers import VERBATIM_SECTIONS, flattened, merged, overlaid, with_entry, without, without_nulls
from lab.profiles.located import Located, read_yaml, read_yaml_file
from lab.profiles.mapping import leaves, load_template, mapping_for
from lab.profiles.models import Profile
from lab.profiles.problems import SET, Place, Problem, refusal

FOLDER = Path("experiments") / "profiles"
MOST_LEVELS = 20
"""Of a dotted key that is set: far more than a profile has, far fewer than a Python stack."""


class EffectiveValue(NamedTuple):
    """One value of a profile and where it comes from: `default`, `file:line`, `--set` or another option."""

    key: str
    value: object
    where: str


class ListEntry(NamedTuple):
    """A profile or a suite; `question` says so when its file cannot be read, or has none."""

    name: str
    question: str


def load_profile(name_or_path: str, *, overrides: Sequence[str] = (), root: Path = REPOSITORY) -> Profile:
    """The profile, with what it extends, the overrides and all defaults filled in.

    Args:
        name_or_path: A name below experiments/profiles (`aladin/static`), or the path of a YAML file (`./mine.yaml`).
        overrides: `dotted.key=value`, the value as YAML; they win over every file, and the last one of a key wins.
        root: The folder that holds experiments/, mappings/ and connect/.

    Raises:
        ProfileError: Every problem of the profile, a line each.
    """
    path = yaml_file(name_or_path, FOLDER, root)
    if path is None:
        raise ProfileError(not_there(name_or_path, "profile", profile_names(root)))
    reading = _Reading(root)
    layers = [*reading.chain(path), reading.command_line(overrides)]
    tree = replace(functools.reduce(merged, layers), place=Place(label_of(path, root), 1))
    tree = without_nulls(without(tree, "extends"))
    profile, problems = checked(tree, _values(tree, _profile_name(path, root)), root)
    broken = {entry.place for _, entry in tree.leaves() if entry.broken}
    problems = reading.problems + [
        problem
        for problem in problems
        # What is missing may stand in a layer that could not be read.
        if problem.place not in broken and not (problem.is_absence and reading.is_incomplete)
    ]
    if profile is None or problems:
        raise refusal(problems)
    mapping_for(profile, root)
    if profile.load.uses_kafka and profile.sink.is_connector:
        load_template(profile.sink.connector, root)
    return profile


def overridden(overrides: Sequence[str]) -> list[tuple[str, Located]]:
    """The values that overrides set, by the dotted key of a profile, however they are written; none is checked.

    Raises:
        ProfileError: One is no `KEY=VALUE`.
    """
    reading = _Reading(REPOSITORY)
    layer = reading.command_line(overrides)
    if reading.problems:
        raise refusal(reading.problems)
    return list(layer.leaves())


class Override(str):
    """`dotted.key=value`, and the option of the command line that it comes from."""

    __slots__ = ("option",)

    option: str


def override(key: str, value: object, option: str = "") -> Override:
    """An override for `load_profile` that holds any JSON value safely, however its text looks as YAML.

    Args:
        option: What a refusal names; by default `--set KEY`.
    """
    made = Override(f"{key}={json.dumps(value, ensure_ascii=False)}")
    made.option = option or f"--set {key}"
    return made


def list_profiles(root: Path = REPOSITORY) -> list[ListEntry]:
    """Every profile below experiments/profiles, by name."""
    return [list_entry(name, file_of(FOLDER, f"{name}.yaml", root), root) for name in profile_names(root)]


def profile_names(root: Path = REPOSITORY) -> list[str]:
    """Names of all profiles below experiments/profiles, sorted."""
    return names_in(FOLDER, root)


def effective(profile: Profile) -> list[EffectiveValue]:
    """Every value of the profile, in the order of its sections, with where it comes from; unset values are left out."""
    values = profile.model_dump(mode="json", exclude={"name", "where"})
    return [
        EffectiveValue(key, value, profile.where.get(key, "default"))
        for key, value in leaves(values)
        if value is not None
    ]


def stated_values(profile: Profile) -> dict[str, Any]:
    """What a profile says, with all that it extends and the overrides, as the sections of a file; defaults left out."""
    tree: dict[str, Any] = {}
    for value in effective(profile):
        if value.where != "default":
            section = tree
            *path, last = split_key(value.key)
            for name in path:
                section = section.setdefault(name, {})
            section[last] = value.value
    return tree


def list_entry(name: str, path: Path, root: Path) -> ListEntry:
    """The question of a file, or why it has none."""
    tree, problems = read_yaml_file(path, label_of(path, root))
    question = tree.at("question") if tree is not None else None
    if question is not None and isinstance(question.value, str):
        return ListEntry(name, question.value)
    return ListEntry(name, f"cannot be read: {problems[0]}" if problems else "states no question")


def _profile_name(path: Path, root: Path) -> str:
    for folder in folders(FOLDER, root):
        if path.resolve().is_relative_to(folder.resolve()):
            return path.resolve().relative_to(folder.resolve()).with_suffix("").as_posix()
    return path.stem


def _values(tree: Located, name: str) -> dict[str, Any]:
    """What the model is given: the tree without places, and what follows from it."""
    values = {key: entry.plain() for key, entry in tree.entries.items()}
    dataset = dataset_in(tree)
    # Empty where the dataset does not exist, which is a problem of its own.
    mapping = dataset.mapping_in(tree) if dataset else ""
    if dataset is not None:
        values["dataset"] = dataset.defaults | values["dataset"]  # type: ignore[operator]
    where = {key: where_of(entry.place) for key, entry in tree.leaves()}
    return {"mapping": mapping, **values, "name": name, "where": where}


def where_of(place: Place) -> str:
    """Where a value comes from: `file:line`, `--set`, or an option that has a name of its own."""
    return SET if place.source.startswith(f"{SET} ") else str(place)


@dataclass
class _Reading:
    """Reads the layers of one profile and collects what is wrong with their notation."""

    root: Path
    problems: list[Problem] = field(default_factory=list)
    is_incomplete: bool = False

    def chain(self, path: Path) -> list[Located]:
        """The files of a profile, the one that all others rest on first."""
        paths = [path]
        layers: list[Located] = []
        while (layer := self.layer(*read_yaml_file(paths[-1], label_of(paths[-1], self.root)))) is not None:
            extends = layer.at("extends")
            # A profile has to ask a question of its own, and to say itself what it extends.
            layers.insert(0, without(without(layer, "question"), "extends") if layers else layer)
            if extends is None or extends.value is None:
                return layers
            extended = self.extended(extends, paths)
            if extended is None:
                break
            paths.append(extended)
        self.is_incomplete = True
        return layers or [Located({}, Place(label_of(path, self.root), 1))]

    def extended(self, extends: Located, paths: list[Path]) -> Path | None:
        """The file that the last of `paths` extends; `None` when it cannot be read."""
        if not isinstance(extends.value, str):
            message = f"got {extends.written or 'a list or a mapping'}, expected the name of a profile"
        elif (path := yaml_file(extends.value, FOLDER, self.root, paths[-1].parent)) is None:
            message = not_there(extends.value, "profile", profile_names(self.root))
        elif any(path.resolve() == earlier.resolve() for earlier in paths):
            names = [_profile_name(earlier, self.root) for earlier in [*paths, path]]
            message = f"got the circle {' → '.join(names)}, expected a chain with an end"
        else:
            return path
        self.problems.append(Problem(extends.place, "extends", message))
        return None

    def layer(self, tree: Located | None, problems: list[Problem]) -> Located | None:
        """A tree as a layer: a mapping with dotted names in its verbatim sections."""
        self.problems += problems
        if tree is None or tree.broken:
            return None
        if not isinstance(tree.value, dict):
            self.problems.append(Problem(tree.place, "", "got no mapping, expected the sections of a profile"))
            return None
        tree, problems = flattened(tree)
        self.problems += problems
        return tree

    def command_line(self, overrides: Sequence[str]) -> Located:
        """All overrides as one layer."""
        layer = Located({}, Place("--set"))
        for text in overrides:
            addition = self.override(text)
            if addition is not None:
                layer = overlaid(layer, addition)
        return layer

    def override(self, text: str) -> Located | None:
        """One override as a layer; `None` when it is none."""
        key, equals, value = text.partition("=")
        key = key.strip()
        place = Place(text.option if isinstance(text, Override) else f"--set {key}", key=key)
        if not (key and equals):
            self.problems.append(Problem(Place(f"--set {text}"), "", "got no value, expected KEY=VALUE"))
            return None
        if key == "extends":
            self.problems.append(Problem(place, key, "cannot be set here, expected the name of another profile to run"))
            return None
        names = split_key(key)
        if len(names) > MOST_LEVELS:
            deep = f"got {len(names):,} levels, expected at most {MOST_LEVELS}, as in a profile"
            self.problems.append(Problem(Place("--set"), "", deep))
            return None
        tree, problems = read_yaml(value, place, lambda _: place, key)
        if tree is None or problems:
            self.problems += problems
            return None
        return self.layer(with_entry(Located({}, place), names, tree), [])


def split_key(key: str) -> tuple[str, ...]:
    """The path of a dotted key; below a verbatim section the rest is one name."""
    names = tuple(key.split("."))
    for section in VERBATIM_SECTIONS:
        if names[: len(section)] == section and len(names) > len(section):
            return (*section, ".".join(names[len(section) :]))
    return names
