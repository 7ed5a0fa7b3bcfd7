"""What a pydantic model refuses, as problems that know where the value was written."""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lab.profiles.checks import expected
from lab.profiles.located import Located
from lab.profiles.problems import Place, Problem, suggestion
from lab.profiles.wording import shown

Model = TypeVar("Model", bound=BaseModel)
Path: TypeAlias = tuple[int | str, ...]
Sections: TypeAlias = Mapping[tuple[str, ...], type[BaseModel]]


def model_of(tree: Located, model: type[Model], sections: Sections) -> tuple[Model | None, list[Problem]]:
    """The model that a tree makes, or why it makes none.

    Args:
        sections: Models inside of it, by the names that lead to them; a place in a list, and a name that the author
            gives, is `*`.
    """
    try:
        return model.model_validate(tree.plain()), []
    except ValidationError as error:
        known: Sections = {(): model, **sections}
        return None, [_problem(details, tree, known) for details in error.errors(include_url=False)]


def located(tree: Located, path: Path) -> tuple[Located | None, Place]:
    """The entry under a path, and its place or, where there is none, that of the nearest thing around it."""
    entry: Located | None = tree
    place = tree.place
    for part in path:
        if entry is not None and isinstance(part, int) and isinstance(entry.value, list):
            entry = entry.value[part]
        else:
            entry = entry.entries.get(str(part)) if entry is not None else None
        place = entry.place if entry is not None else place
    return entry, place


def dotted(path: Path) -> str:
    """A path as a message names it: `steps[3].values`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _problem(details: ErrorDetails, tree: Located, sections: Sections) -> Problem:
    path = tuple(part for part in details["loc"] if part != "[key]")
    entry, place = located(tree, path)
    model = _section(path[:-1], sections)
    if details["type"] == "missing":
        message = f"missing, expected {_described(model, path)}"
    elif details["type"] == "extra_forbidden":
        message = f"unknown key, {suggestion(str(path[-1]), model.model_fields if model else (), 'one of')}"
    else:
        message = f"got {shown(details['input'], entry)}, expected {expected(details)}"
    return Problem(place, dotted(path), message, is_absence=details["type"] == "missing")


def _section(path: Path, sections: Sections) -> type[BaseModel] | None:
    """The model whose keys stand under a path."""
    return next((model for pattern, model in sections.items() if _fits(path, pattern)), None)


def _fits(path: Path, pattern: tuple[str, ...]) -> bool:
    return len(path) == len(pattern) and all(name in {"*", part} for part, name in zip(path, pattern, strict=True))


def _described(model: type[BaseModel] | None, path: Path) -> str:
    field = model.model_fields.get(str(path[-1])) if model is not None else None
    return (field.description if field is not None else None) or "a value"
