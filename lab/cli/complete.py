"""What the shell offers while a command is typed: names of profiles, suites, runs, and keys of `--set`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.profiles.files import REPOSITORY, names_in
from lab.profiles.index_settings import known_settings
from lab.profiles.loader import profile_names
from lab.profiles.mapping import FOLDER
from lab.profiles.models import Profile
from lab.profiles.spaces import space_names
from lab.profiles.suites import suite_names
from lab.profiles.yaml_model import fields_at

RUNS = Path("runs")
MADE_BY_THE_LOADER = frozenset({"name", "where"})


def profiles(incomplete: str) -> list[str]:
    """Names of profiles."""
    return beginning(profile_names(), incomplete)


def suites(incomplete: str) -> list[str]:
    """Names of suites."""
    return beginning(suite_names(), incomplete)


def mappings(incomplete: str) -> list[str]:
    """Names of mappings."""
    return beginning(names_in(FOLDER, REPOSITORY, ".json"), incomplete)


def spaces(incomplete: str) -> list[str]:
    """Names of spaces."""
    return beginning(space_names(), incomplete)


def runs(incomplete: str) -> list[str]:
    """`latest`, and the profiles and ids of the runs below the working directory's `runs`."""
    made = sorted(
        path.parent.relative_to(RUNS) for path in RUNS.rglob("run.json") if not {"suites", "tunes"} & {*path.parts}
    )
    names = dict.fromkeys(str(name) for run in made for name in (run.parent, run.name))
    return beginning(["latest", *names], incomplete)


def settings(incomplete: str) -> list[str]:
    """Dotted keys of a profile and of an index, each with its `=`."""
    sections = (name for name in fields_at(Profile, ()) if name not in MADE_BY_THE_LOADER)
    of_index = (f"index.{name}" for name in known_settings().releases if not name.endswith("."))
    keys = {*of_index, *(key for section in sections for key in keys_at((section,)))}
    return beginning(sorted(f"{key}=" for key in keys), incomplete)


def keys_at(path: tuple[str, ...]) -> Iterator[str]:
    """The dotted keys of all values at and below a path of a profile."""
    below = fields_at(Profile, path)
    for name in below:
        yield from keys_at((*path, name))
    if not below:
        yield ".".join(path)


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Those of the names that what is typed so far may become."""
    return [name for name in names if name.startswith(incomplete)]
