"""A mapping file, proposed from what a sample shows of the fields: each with its type, and why."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lab.errors import ProfileError
from lab.mapping.fields import MOST_FIELDS, Field
from lab.mapping.sample import Sample
from lab.mapping.types import ANALYZERS, NO_WISHES, UNINDEXED, Choice, Rules, Wishes
from lab.profiles.problems import suggestion

WIDEST = 118
"""Columns of a declaration that still stands on one line."""
NAMED_TWICE = "--{option}: {name}: got the field in --{other}, too, expected it in one of them"

WHY_STRICT = (
    "dynamic is strict: every document of the file was read, so that one with another field is rejected as a mistake"
)
WHY_NOT_DYNAMIC = (
    "dynamic is false: fields absent from the sample are stored but not indexed; they never cause a rejection"
)


@dataclass(frozen=True)
class ProposedField:
    """A field of the proposal, objects included."""

    name: str
    choice: Choice

    @property
    def type(self) -> str:
        """Type of the field in a word or two."""
        declaration = self.choice.declaration
        if declaration == UNINDEXED:
            return "stored only"
        kind = str(declaration.get("type", "object"))
        return f"{kind}, not indexed" if declaration.get("index") is False else kind


@dataclass(frozen=True)
class Proposal:
    """A mapping file and how it came about.

    Attributes:
        content: Of the file.
        fields: All that it declares, in its order.
        why_dynamic: Whether other fields are rejected, or ignored, and why.
    """

    content: dict[str, Any]
    fields: tuple[ProposedField, ...]
    why_dynamic: str

    @property
    def text(self) -> str:
        """The file itself."""
        return json_text(self.content) + "\n"


def propose(sample: Sample, wishes: Wishes = NO_WISHES, has_type: Callable[[str], bool] = lambda _: False) -> Proposal:
    """The mapping that a sample's documents want.

    Args:
        has_type: Whether the servers have a type that not all builds have.

    Raises:
        ProfileError: There are more fields than an index takes, or a wish concerns a field that the sample lacks.
    """
    check_wishes(sample.root, wishes)
    is_strict = sample.whole
    rules = Rules(sample.documents, wishes, has_type, sample.whole)
    properties, fields = declared_below(sample.root, rules, with_empty=is_strict)
    refuse_too_many(sample.root, len(fields))
    refuse_lost_wishes(wishes, fields)
    used = {of.choice.declaration.get("analyzer") for of in fields}
    analyzers = {name: list(choices) for name, choices in ANALYZERS.items() if name in used}
    meta = {"inferred_from": sample.text, "why": {of.name: of.choice.why for of in fields}}
    content: dict[str, Any] = {
        **({"text_analyzers": analyzers} if analyzers else {}),
        "settings": {},
        "mappings": {"dynamic": "strict" if is_strict else False, "_meta": meta, "properties": properties},
    }
    return Proposal(content, tuple(fields), WHY_STRICT if is_strict else WHY_NOT_DYNAMIC)


def declared_below(of: Field, rules: Rules, *, with_empty: bool) -> tuple[dict[str, Any], list[ProposedField]]:
    """The `properties` of an object, and all fields below it in the same order.

    Args:
        with_empty: Whether fields without any value are declared: strict mappings reject even their null.
    """
    properties: dict[str, Any] = {}
    fields: list[ProposedField] = []
    for name, child in of.children.items():
        if not (child.kinds or with_empty):
            continue
        choice = rules.choice(child)
        properties[name] = dict(choice.declaration)
        fields.append(ProposedField(child.name, choice))
        if choice.declaration.get("type", "nested") == "nested":
            properties[name]["properties"], below = declared_below(child, rules, with_empty=with_empty)
            fields += below
    return properties, fields


def refuse_too_many(root: Field, fields: int) -> None:
    """Raise ProfileError if there are more fields than an index takes."""
    if root.unfit or fields > MOST_FIELDS:
        count = f"more than {MOST_FIELDS:,}" if root.unfit else f"{fields:,}"
        raise ProfileError(
            f"the documents have {count} fields, expected at most {MOST_FIELDS:,}, Elasticsearch's default limit; "
            "write a mapping by hand (mappings/README.md)"
        )


def refuse_lost_wishes(wishes: Wishes, fields: Sequence[ProposedField]) -> None:
    """Raise ProfileError if a field that is searched lies below one of which nothing is indexed."""
    declared = {of.name: of.choice for of in fields}
    for name in sorted(wishes.searched - declared.keys()):
        above = next((parent for parent in parents_of(name) if parent in declared), None)
        if above is None:
            raise ProfileError(f"--search {name}: it has no value in the sample, so that its type is not known")
        remedy = f"leave out --no-search {above}" if above in wishes.unsearched else f"search {above}"
        raise ProfileError(f"--search {name}: nothing below {above} is indexed: {declared[above].why}; {remedy}")


def parents_of(name: str) -> Iterator[str]:
    """The objects that a field lies in, the innermost first."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def check_wishes(root: Field, wishes: Wishes) -> None:
    """Raise ProfileError if a wish concerns a field that the sample lacks, or contradicts another one."""
    names = {of.name for of in root.all_below()}
    of_options = {"search": wishes.searched, "no-search": wishes.unsearched, "object": wishes.objects}
    for option, wanted in of_options.items():
        for name in sorted(wanted - names):
            raise ProfileError(f'--{option}: unknown field "{name}", {suggestion(name, names, "a field of the file")}')
    for of in root.all_below():
        if of.name in wishes.objects and "object" not in of.kinds:
            raise ProfileError(f"--object {of.name}: it holds no objects; --object is for arrays of them")
    for name in sorted(wishes.searched & wishes.unsearched):
        raise ProfileError(NAMED_TWICE.format(option="search", other="no-search", name=name))


def json_text(value: object, indent: str = "") -> str:
    """JSON with every declaration on one line, as a mapping is read."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or not value:
        return flat
    holds_objects = any(isinstance(each, dict) and each for each in value.values())
    if not holds_objects and len(indent) + len(flat) <= WIDEST:
        return flat
    inner = f"{indent}  "
    entries = (f"{inner}{json.dumps(name, ensure_ascii=False)}: {json_text(of, inner)}" for name, of in value.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
