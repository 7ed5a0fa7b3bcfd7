"""Choices of a browser: profiles and suites, their values, and the command that runs them."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson
import yaml

from lab.console import as_called
from lab.errors import ProfileError
from lab.page.settings import MAY_BE_SET, check_settings
from lab.profiles import Profile, effective, list_profiles, load_profile, profile_names
from lab.profiles.files import file_of
from lab.profiles.loader import stated_values
from lab.profiles.problems import suggestion
from lab.profiles.suites import FOLDER as SUITES
from lab.profiles.suites import list_suites, load_suite, suite_names
from lab.records.run import INDEX_REQUEST
from lab.stack.places import ROOT

MOST_SETTINGS, MOST_CHARACTERS = 100, 4000
MOST_NAME_CHARACTERS = 200
LEAST_MINUTES = 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """A run or a suite with some values set otherwise.

    Attributes:
        minutes: Longest time of a suite; `None` as its file says.
    """

    kind: Literal["run", "suite"]
    name: str
    settings: tuple[str, ...] = ()
    minutes: float | None = None

    @classmethod
    def of(cls, body: object) -> "Choice":
        """The choice in the body of a request.

        Raises:
            ProfileError: It is none, or names what is not there; the same sentence as the command line's.
        """
        if not isinstance(body, dict):
            raise ProfileError("body: got no JSON object, expected kind, name and settings")
        if unknown := sorted(body.keys() - {"kind", "name", "settings", "minutes"}):
            raise ProfileError(f"body: unknown key {unknown[0]}, expected kind, name, settings or minutes")
        kind, name = body.get("kind"), body.get("name")
        if kind not in ("run", "suite"):  # which may be unhashable
            raise ProfileError(f"kind: got {kind}, expected run or suite")
        minutes = minutes_of(kind, body.get("minutes"))
        return cls(kind, known_name(kind, name), settings_of(body.get("settings")), minutes)

    def check(self) -> None:
        """Have profile or suite judge the values, as `--set` does.

        Raises:
            ProfileError: Every problem, a line each.
        """
        if self.kind == "run":
            load_profile(self.name, overrides=self.settings)
        else:
            load_suite(self.name, overrides=self.settings)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line behind `./sluice`."""
        sets = (word for setting in self.settings for word in ("--set", setting))
        minutes = () if self.minutes is None else ("--minutes", f"{self.minutes:g}")
        return (self.kind, self.name, *sets, *minutes)


def known_name(kind: str, name: object) -> str:
    """A name of the repository or of the working folder; no path, which could be of any file."""
    if isinstance(name, str) and len(name) > MOST_NAME_CHARACTERS:
        raise ProfileError(f"name: got {len(name):,} characters, expected at most {MOST_NAME_CHARACTERS}")
    names = profile_names() if kind == "run" else suite_names()
    if not isinstance(name, str) or name not in names:
        what = "profile" if kind == "run" else "suite"
        raise ProfileError(f'unknown {what} "{name}", {suggestion(str(name), names, f"a {what}")}')
    return name


def settings_of(given: object) -> tuple[str, ...]:
    """The settings, each as `--set` takes it."""
    settings = [] if given is None else given
    if not isinstance(settings, list) or not all(isinstance(setting, str) for setting in settings):
        raise ProfileError("settings: got something else, expected a list of texts such as sink.tasks=2")
    if len(settings) > MOST_SETTINGS or any(len(setting) > MOST_CHARACTERS for setting in settings):
        most = f"{MOST_SETTINGS} settings of {MOST_CHARACTERS:,} characters"
        raise ProfileError(f"settings: got more, expected at most {most}")
    check_settings(settings)
    return tuple(settings)


def minutes_of(kind: object, given: object) -> float | None:
    """The longest time of a suite."""
    if given is None:
        return None
    if kind != "suite":
        raise ProfileError("minutes: got some for a run, expected them for a suite only")
    if isinstance(given, bool) or not isinstance(given, int | float) or not LEAST_MINUTES <= given < math.inf:
        raise ProfileError(f"minutes: got {given}, expected a number from {LEAST_MINUTES:g} on")
    return float(given)


def command_text(arguments: Sequence[str]) -> str:
    """A command as it would be typed here."""
    return shlex.join((as_called("./sluice"), *arguments))


class Catalogue:
    """Profiles and suites as lists; what takes a while to make is kept until another one is there."""

    def __init__(self) -> None:
        self._profiles: tuple[list[str], list[dict[str, Any]]] = ([], [])

    def profiles(self) -> list[dict[str, Any]]:
        """Every profile with its question, dataset and mapping; these are `None` of one that needs more to be read."""
        names = profile_names()
        if self._profiles[0] != names:
            listed = [{"name": name, "question": question, **of_profile(name)} for name, question in list_profiles()]
            self._profiles = (names, listed)
        return self._profiles[1]

    def suites(self) -> list[dict[str, Any]]:
        """Every suite with its question."""
        return [entry._asdict() for entry in list_suites()]


def of_profile(name: str) -> dict[str, str | None]:
    """Dataset and mapping of a profile."""
    try:
        profile = load_profile(name)
    except ProfileError:
        return {"dataset": None, "mapping": None}
    return {"dataset": profile.dataset.name, "mapping": profile.mapping}


def profile_details(name: str) -> dict[str, Any]:
    """Profile with every value that may be set from the page, and its origin.

    Raises:
        ProfileError: There is none, or it is wrong.
    """
    profile = load_profile(known_name("run", name))
    settings = [value._asdict() for value in effective(profile) if value.key in MAY_BE_SET]
    return {"yaml": profile_yaml(profile), "settings": settings}


def profile_yaml(profile: Profile) -> str:
    """Text of a profile, as a file would have it."""
    return yaml_text(stated_values(profile))


def suite_details(name: str) -> dict[str, Any]:
    """A suite's file, and its variants; raises ProfileError if there is none, or it is wrong."""
    suite = load_suite(known_name("suite", name))
    text = file_of(SUITES, f"{name}.yaml", ROOT).read_text("utf-8")
    return {"yaml": text, "variants": [variant.name for variant in suite.variants]}


def yaml_text(values: Mapping[str, Any]) -> str:
    """Values as YAML."""
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)
    return text


def profile_of_run(folder: Path) -> str:
    """The effective profile of a run as YAML; empty where its folder has none."""
    try:
        values = orjson.loads((folder / "profile.json").read_bytes())
    except (OSError, ValueError):
        return ""
    values.pop("where", None)
    return yaml_text(values)


def mapping_of_run(folder: Path) -> str:
    """The mapping that a run has sent, as YAML; empty where its folder has none."""
    try:
        return yaml_text({"mappings": orjson.loads((folder / INDEX_REQUEST).read_bytes())["mappings"]})
    except (OSError, ValueError, LookupError, TypeError):
        return ""
