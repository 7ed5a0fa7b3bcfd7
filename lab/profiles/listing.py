"""What can be run, by name, each with the question that it answers."""

from pathlib import Path
from typing import NamedTuple

from lab.profiles.located import Located
from lab.profiles.problems import Problem

REPOSITORY = Path(__file__).resolve().parents[2]
"""The folder that holds experiments/, mappings/ and connect/."""


class Listed(NamedTuple):
    """A profile or a suite; `question` says so when its file cannot be read, or has none."""

    name: str
    question: str


def listed(name: str, tree: Located | None, problems: list[Problem]) -> Listed:
    """What a file is listed as, from what reading it has given."""
    question = tree.at("question") if tree is not None else None
    if question is not None and isinstance(question.value, str):
        return Listed(name, question.value)
    return Listed(name, f"cannot be read: {problems[0]}" if problems else "states no question")


def names_in(folder: Path) -> list[str]:
    """Names of the YAML files below a folder, sorted."""
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
