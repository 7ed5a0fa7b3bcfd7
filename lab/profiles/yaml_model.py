"""A YAML file as a pydantic model; what the model refuses becomes a problem that names where the value was written."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lab.engines import ENGINES
from lab.profiles.located import Located, read_yaml_file
from lab.profiles.problems import Place, Problem, nearest, suggestion

Model = TypeVar("Model", bound=BaseModel)
TreePath: TypeAlias = tuple[int | str, ...]

_EXPECTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "some text",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "too_short": "at least one",
    "union_tag_invalid": "`drain` or `stream`",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
}
"""What a model expects instead of a value, by the type of pydantic's error."""


def read_model(path: Path, label: str, model: type[Model], *, what: str) -> tuple[Model | None, Located, list[Problem]]:
    """What a YAML file says, as a model and as a tree of values with their places, and why it makes no model.

    Args:
        label: The file as a message names it.
        what: What the file holds, such as `a suite`.
    """
    tree, problems = read_yaml_file(path, label)
    if tree is None or problems:
        return None, tree or Located({}, Place(label)), problems
    if not isinstance(tree.value, dict):
        return None, tree, [Problem(tree.place, "", f"got no mapping, expected the keys of {what}")]
    result, problems = model_of(tree, model)
    return result, tree, problems


def model_of(
    tree: Located,
    model: type[Model],
    values: Mapping[str, Any] | None = None,
    unknown_key: Callable[[TreePath], str] | None = None,
) -> tuple[Model | None, list[Problem]]:
    """The model that a tree makes, or why it makes none.

    Args:
        values: What the model is given, if that is more than the tree holds.
        unknown_key: What to say about a key that the model does not have.
    """

    def nearest_field(path: TreePath) -> str:
        return f"unknown key, {suggestion(str(path[-1]), fields_at(model, path[:-1]), 'one of')}"

    try:
        return model.model_validate(tree.plain() if values is None else values), []
    except ValidationError as error:
        problems = (
            _problem(details, tree, model, unknown_key or nearest_field) for details in error.errors(include_url=False)
        )
        return None, [problem for problem in problems if problem is not None]


def fields_at(model: type[BaseModel], path: TreePath) -> dict[str, FieldInfo]:
    """The keys that a value under a path may have, by name; none where no model stands there."""
    kinds: list[object] = [model]
    for part in path:
        kinds = [below for kind in kinds for below in _types_below(kind, part)]
    return {name: field for kind in kinds for name, field in _fields(kind).items()}


def _types_below(kind: object, part: int | str) -> Iterator[object]:
    """The types of a part of a value of this type."""
    if get_origin(kind) in {list, Mapping}:
        yield get_args(kind)[-1]
    elif (field := _fields(kind).get(str(part))) is not None:
        yield field.annotation
    else:
        for alternative in get_args(kind):
            yield from _types_below(alternative, part)


def _fields(kind: object) -> dict[str, FieldInfo]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return dict(kind.model_fields)
    return {name: field for alternative in get_args(kind) for name, field in _fields(alternative).items()}


def dotted(path: TreePath) -> str:
    """A path as a message names it: `steps[3].values`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _problem(
    details: ErrorDetails, tree: Located, model: type[BaseModel], unknown_key: Callable[[TreePath], str]
) -> Problem | None:
    """What is wrong; `None` for what follows from a notation that is a problem already."""
    kind, path = details["type"], _written(tree, details["loc"])
    if kind == "missing":
        key, known = str(details["loc"][-1]), fields_at(model, path)
        message = f"missing, expected {_described(known.get(key))}"
        section = tree.at(*path)
        if typed := nearest(key, (section.entries.keys() if section else set()) - known.keys()):
            message = f"{message}; got `{typed}`"
        return Problem(_deciding_place(tree, path), dotted((*path, key)), message, is_absence=True)
    if kind == "union_tag_invalid":
        path = (*path, "mode")
    entry = tree.at(*path)
    if entry is not None and entry.broken:
        return None
    if kind == "extra_forbidden":
        message = unknown_key(path)
    elif kind == "value_error":
        message = own_words(details)
    else:
        value = details["input"] if entry is None else entry.plain()
        message = f"got {shown(value, entry)}, expected {_expected(details)}"
    return Problem(tree.place_of(*path), dotted(path), message)


def _written(tree: Located, location: TreePath) -> TreePath:
    """The parts of a path that stand in the file; pydantic puts words of its own between and behind them."""
    path: TreePath = ()
    for part in location:
        if tree.at(*path, part) is not None:
            path = (*path, part)
    return path


def _deciding_place(tree: Located, path: TreePath) -> Place:
    """Where the choice stands that makes a key of the section under a path necessary."""
    choice = tree.at(*path, "mode") or tree.at(*path, "name")
    return choice.place if choice else tree.place_of(*path)


def _described(field: FieldInfo | None) -> str:
    text = (field.description if field is not None else None) or "a value"
    return text[0].lower() + text[1:]


def own_words(details: ErrorDetails) -> str:
    """`got "1e6", expected a whole number`; the sentence of a check of ours as it is."""
    if details["type"] == "value_error":
        return details["msg"].removeprefix("Value error, ")
    return f"got {shown(details['input'], None)}, expected {_expected(details)}"


def _expected(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "literal_error":
        # `drain` and `stream` are one kind of load for the models, which then know of one way only.
        return (
            "`kafka`, `direct` or `rally`" if details["loc"][-1] == "via" else str(context["expected"]).replace("'", "")
        )
    for engine in ENGINES:
        if details["loc"] == engine.key:
            return f"a version such as {engine.example_version}"
    return _EXPECTED[kind].format(**context) if kind in _EXPECTED else details["msg"]


def shown(value: object, entry: Located | None) -> str:
    """A value as its author wrote it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if entry is not None and entry.written is not None and not isinstance(value, str):
        return entry.written
    return json.dumps(value, ensure_ascii=False, default=str)


def unknown_name(entry: Located, key: str, what: str, names: Iterable[str]) -> Iterator[Problem]:
    """The problem of a text that is none of the names; none for what is no text, which is checked elsewhere."""
    choices = frozenset(names)
    if isinstance(entry.value, str) and entry.value not in choices:
        remedy = suggestion(entry.value, choices, f"a {what}")
        yield Problem(entry.place, key, f'unknown {what} "{entry.value}", {remedy}')
