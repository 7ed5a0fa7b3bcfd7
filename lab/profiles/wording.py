"""How a refusal words what it found."""

import json
from collections.abc import Iterable, Iterator, Mapping

from pydantic_core import ErrorDetails

from lab.profiles.located import Located
from lab.profiles.problems import Problem, suggestion

_EXPECTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
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
}


def shown(value: object, entry: Located | None) -> str:
    """A value as its author wrote it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if entry is not None and entry.written is not None and not isinstance(value, str):
        return entry.written
    return json.dumps(value, ensure_ascii=False, default=str)


def expected(details: ErrorDetails) -> str:
    """What a model wants instead of a value that it refuses."""
    kind, context = details["type"], details.get("ctx", {})
    bounds = {
        "greater_than": "more than {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than": "less than {lt}",
        "less_than_equal": "at most {le}",
    }
    if kind in bounds:
        return bounds[kind].format(**{name: f"{bound:g}" for name, bound in context.items()})
    if kind == "literal_error":
        # `drain` and `stream` are one kind of load for the models, which then know of one way only.
        return "`kafka` or `direct`" if details["loc"][-1] == "via" else str(context["expected"]).replace("'", "")
    if kind == "string_pattern_mismatch" or details["loc"] == ("elasticsearch", "version"):
        return "a version such as 8.19.21"
    return _EXPECTED.get(kind, details["msg"])


def unknown_name(entry: Located, key: str, what: str, known: Iterable[str]) -> Iterator[Problem]:
    """The problem of a text that is not among the known names; none for what is no text, which is checked elsewhere."""
    names = frozenset(known)
    if isinstance(entry.value, str) and entry.value not in names:
        said = suggestion(entry.value, names, f"a {what}")
        yield Problem(entry.place, key, f'unknown {what} "{entry.value}", {said}')
