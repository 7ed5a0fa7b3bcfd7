"""A YAML file as a pydantic model, and what the model refuses as problems that know where the value was written."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lab.profiles.located import Located, read_yaml_file
from lab.profiles.problems import Place, Problem, suggestion
from lab.profiles.wording import expected, shown

Model = TypeVar("Model", bound=BaseModel)
TreePath: TypeAlias = tuple[int | str, ...]
Sections: TypeAlias = Mapping[tuple[str, ...], type[BaseModel]]


def read_model(
    path: Path, label: str, model: type[Model], sections: Sections, *, what: str
) -> tuple[Model | None, Located, list[Problem]]:
    """What a YAML file says, as a model and as a tree of values with their places, and why it makes no model.

    Args:
        label: The file as a message names it.
        sections: As for `model_of`.
        what: What the file holds, such as `a suite`.
    """
    tree, problems = read_yaml_file(path, label)
    if tree is None or problems:
        return None, tree or Located({}, Place(label)), problems
    if not isinstance(tree.value, dict):
        return None, tree, [Problem(tree.place, "", f"got no mapping, expected the keys of {what}")]
    made, problems = model_of(tree, model, sections)
    return made, tree, problems


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


def located(tree: Located, path: TreePath) -> tuple[Located | None, Place]:
    """The entry under a path, and its place or, where there is none, that of the nearest thing around it."""
    entry: Located | None = tree
    place = tree.place
    for part in path:
        entry = _below(entry, part)
        place = entry.place if entry is not None else place
    return entry, place


def dotted(path: TreePath) -> str:
    """A path as a message names it: `steps[3].values`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _below(entry: Located | None, part: int | str) -> Located | None:
    if entry is not None and isinstance(part, int) and isinstance(entry.value, list):
        return entry.value[part]
    return entry.entries.get(str(part)) if entry is not None else None


def _problem(details: ErrorDetails, tree: Located, sections: Sections) -> Problem:
    kind, path = details["type"], details["loc"]
    if kind != "missing":
        path = _written(tree, path)
    entry, place = located(tree, path)
    model = _section(path[:-1], sections)
    if kind == "missing":
        message = f"missing, expected {_described(model, path)}"
    elif kind == "extra_forbidden":
        message = f"unknown key, {suggestion(str(path[-1]), model.model_fields if model else (), 'one of')}"
    elif kind == "value_error":
        message = details["msg"].removeprefix("Value error, ")
    else:
        message = f"got {shown(details['input'], entry)}, expected {expected(details)}"
    return Problem(place, dotted(path), message, is_absence=kind == "missing")


def _written(tree: Located, path: TreePath) -> TreePath:
    """The part of a path that leads through the file; pydantic puts words of its own behind it."""
    return next((path[:length] for length in range(len(path), 0, -1) if located(tree, path[:length])[0]), ())


def _section(path: TreePath, sections: Sections) -> type[BaseModel] | None:
    """The model whose keys stand under a path."""
    return next((model for pattern, model in sections.items() if _fits(path, pattern)), None)


def _fits(path: TreePath, pattern: tuple[str, ...]) -> bool:
    return len(path) == len(pattern) and all(name in {"*", part} for part, name in zip(path, pattern, strict=True))


def _described(model: type[BaseModel] | None, path: TreePath) -> str:
    field = model.model_fields.get(str(path[-1])) if model is not None else None
    return (field.description if field is not None else None) or "a value"
