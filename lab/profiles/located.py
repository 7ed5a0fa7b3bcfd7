"""YAML text as a tree of values that know where they were written."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import yaml

from lab.profiles.files import why_unreadable
from lab.profiles.problems import Place, Problem

Scalar: TypeAlias = str | int | float | bool | None
Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"

MOST_VALUES = 20_000
"""Of one source. A few aliases of aliases are billions of values, which nobody means and no memory holds."""

_TAG = "tag:yaml.org,2002:"
_TRUE_FALSE_NULL: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~"), None),
}
_YES = frozenset({"yes", "on"})
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Located:
    """A value and where it was written.

    Attributes:
        value: A scalar, a list of located values, or a mapping of names to located values.
        written: A scalar as it stands in the source.
        broken: A problem was reported for it already; whatever else it violates follows from that.
    """

    value: "Scalar | list[Located] | dict[str, Located]"
    place: Place
    written: str | None = None
    broken: bool = False

    @property
    def entries(self) -> "dict[str, Located]":
        """The entries of a mapping; none for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def plain(self) -> Plain:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: entry.plain() for key, entry in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value

    def at(self, *path: int | str) -> "Located | None":
        """The value under a path of names and of places in lists; `None` when there is none."""
        entry: Located | None = self
        for part in path:
            if entry is not None and isinstance(part, int) and isinstance(entry.value, list):
                entry = entry.value[part]
            else:
                entry = entry.entries.get(str(part)) if entry is not None else None
        return entry

    def place_of(self, *path: int | str) -> Place:
        """The place of the value under a path or, where there is none, of the nearest value around it."""
        around = (self.at(*path[:length]) for length in range(len(path), 0, -1))
        return next((entry.place for entry in around if entry is not None), self.place)

    def leaves(self, prefix: str = "") -> "Iterator[tuple[str, Located]]":
        """Every value that is no mapping, with its dotted key."""
        for name, entry in self.entries.items():
            key = f"{prefix}.{name}" if prefix else name
            if isinstance(entry.value, dict):
                yield from entry.leaves(key)
            else:
                yield key, entry


class _TooManyError(Exception):
    """A source holds more values than anybody means."""


@dataclass
class _Reading:
    """One pass over the nodes of a source; collects its problems."""

    place_of: Callable[[yaml.Mark], Place]
    problems: list[Problem] = field(default_factory=list)
    open_nodes: set[int] = field(default_factory=set)
    count: int = 0

    def refuse(self, node: yaml.Node, key: str, message: str) -> Located:
        place = self.place_of(node.start_mark)
        self.problems.append(Problem(place, key, message))
        return Located(None, place, broken=True)

    def refuse_tag(self, node: yaml.Node, key: str) -> Located:
        return self.refuse(node, key, f"got the tag {node.tag.replace(_TAG, '!!')}, expected a value without a tag")

    def located(self, node: yaml.Node, key: str) -> Located:
        if id(node) in self.open_nodes:
            return self.refuse(node, key, "an alias that contains itself, expected a tree")
        self.count += 1
        if self.count > MOST_VALUES:
            raise _TooManyError
        self.open_nodes.add(id(node))
        try:
            if isinstance(node, yaml.ScalarNode):
                return self.scalar(node, key)
            if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
                items = [self.located(item, f"{key}[{position}]") for position, item in enumerate(node.value)]
                return Located(items, self.place_of(node.start_mark))
            if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
                return Located(self.entries(node, key), self.place_of(node.start_mark))
            return self.refuse_tag(node, key)
        finally:
            self.open_nodes.discard(id(node))

    def entries(self, node: yaml.MappingNode, prefix: str) -> dict[str, Located]:
        own: dict[str, Located] = {}
        inherited: dict[str, Located] = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, yaml.ScalarNode):
                self.refuse(name_node, prefix, "got a list or a mapping as a key, expected a name")
            elif name_node.tag == f"{_TAG}merge":
                inherited = self.merged(value_node, prefix) | inherited
            else:
                name = name_node.value
                key = f"{prefix}.{name}" if prefix else name
                if name in own:
                    first = own[name].place.line
                    self.refuse(name_node, key, f"duplicate key: first on line {first}, expected it once")
                else:
                    own[name] = self.located(value_node, key)
        return inherited | own

    def merged(self, node: yaml.Node, prefix: str) -> dict[str, Located]:
        """The entries that a merge key `<<` brings in; of several mappings the first wins."""
        key = f"{prefix}.<<".removeprefix(".")
        entry = self.located(node, key)
        mappings = entry.value if isinstance(entry.value, list) else [entry]
        if not all(isinstance(mapping.value, dict) for mapping in mappings):
            self.refuse(node, key, "got no mapping, expected the alias of a mapping")
        entries: dict[str, Located] = {}
        for mapping in reversed(mappings):
            entries |= mapping.entries
        return entries

    def scalar(self, node: yaml.ScalarNode, key: str) -> Located:
        text, kind = str(node.value), node.tag.removeprefix(_TAG)
        place = self.place_of(node.start_mark)
        if node.style in {"'", '"', "|", ">"} and node.tag == f"{_TAG}str":
            return Located(text, place, text)
        if not node.tag.startswith(_TAG) or kind not in _SCALAR_TAGS:
            return self.refuse_tag(node, key)
        if text == "":
            return self.refuse(node, key, "got nothing, expected a value (`null` removes what is inherited)")
        if (misreading := _misreading(kind, text)) is not None:
            return self.refuse(node, key, misreading)
        return Located(_scalar_value(kind, text), place, text)


_SCALAR_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "value"})


def _misreading(kind: str, text: str) -> str | None:
    """What to do about a value on which YAML 1.1 and YAML 1.2 disagree; `None` where they agree."""
    if kind == "bool" and text not in _TRUE_FALSE_NULL:
        meant = "true" if text.lower() in _YES else "false"
        return f'got {text}, which YAML 1.1 reads as {meant} and YAML 1.2 as text, expected {meant} or "{text}"'
    if kind == "timestamp":
        return f'got {text}, which YAML 1.1 reads as a date and YAML 1.2 as text, expected "{text}"'
    if (kind == "int" and not _WHOLE.fullmatch(text)) or (kind == "float" and not _DECIMAL.fullmatch(text)):
        return (
            f'got {text}, which not every YAML parser reads as the same number, expected a decimal number or "{text}"'
        )
    return None


def _scalar_value(kind: str, text: str) -> Scalar:
    # YAML 1.1 reads 1e4 as text, YAML 1.2 as a number; nobody means the text.
    if kind == "str" and not ("e" in text.lower() and _DECIMAL.fullmatch(text)):
        return text
    if text in _TRUE_FALSE_NULL:
        return _TRUE_FALSE_NULL[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text


def read_yaml(
    text: str, whole: Place, place_of: Callable[[yaml.Mark], Place], key: str = ""
) -> tuple[Located | None, list[Problem]]:
    """The tree that `text` holds (`None` when it holds none) and every problem of its notation.

    A plain scalar is read as YAML 1.2 reads it; one that YAML 1.1 reads otherwise (`no`, `2024-01-01`, `010`) is a
    problem, because the author may have meant either.

    Args:
        text: One YAML document.
        whole: Where a problem of the text as a whole is reported.
        place_of: The place of a mark in the text.
        key: Dotted key under which the text stands.
    """
    too_deep = Problem(whole, "", "got too many levels, expected lists and mappings that are not that deep")
    try:
        node = composed(text)
    except RecursionError:
        return None, [too_deep]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        return None, [Problem(whole if mark is None else place_of(mark), "", f"not YAML: {reason}")]
    if node is None:
        return None, [Problem(whole, "", "got nothing, expected a value" if key else "got an empty file")]
    reading = _Reading(place_of)
    try:
        tree = reading.located(node, key)
    except _TooManyError:
        return None, [Problem(whole, "", f"got too many values with all aliases, expected {MOST_VALUES:,} at most")]
    except RecursionError:
        return None, [too_deep]
    return tree, reading.problems


def composed(text: str) -> yaml.Node | None:
    """The nodes of a text by libyaml, ten times as fast; what it refuses, the parser in Python says more plainly.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def read_yaml_file(path: Path, label: str) -> tuple[Located | None, list[Problem]]:
    """The tree that a file holds (`None` when it holds none) and every problem of its notation.

    Args:
        label: The file as a message names it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return None, [Problem(Place(label), "", why_unreadable(error))]
    return read_yaml(text, Place(label, 1), lambda mark: Place(label, mark.line + 1))
