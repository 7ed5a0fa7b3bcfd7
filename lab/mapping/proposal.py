"""A mapping file, proposed from what a sample shows of the fields: each with its type, and why."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from lab.errors import ProfileError
from lab.mapping.fields import MOST_FIELDS, Field
from lab.mapping.odd import counted
from lab.mapping.sample import Sample
from lab.mapping.types import (
    AN_OBJECT,
    ANALYZERS,
    LONGEST_TERM,
    NO_OBJECT,
    NO_WISHES,
    UNINDEXED,
    Choice,
    Rules,
    Wishes,
)
from lab.profiles.problems import suggestion

WIDEST = 118
"""Columns of a declaration that still stands on one line."""
NAMED_TWICE = "--{option}: {name}: got the field in --{other}, too, expected it in one of them"
MOST_TOLERATED = 0.5
MOST_NESTED = 50
"""Nested fields of an index, by default, in Elasticsearch to 8.x (`index.mapping.nested_fields.limit`)."""
WHY_NOT_DYNAMIC = (
    "dynamic is false: fields absent from the sample are stored but not indexed; they never cause a rejection"
)
LATER = {
    "fields": WHY_NOT_DYNAMIC,
    "strings": f"keyword: a string of more than {LONGEST_TERM:,} characters is stored, not indexed",
    "objects": "an object in a field of strings or booleans rejects its document, and so it does in a field of "
    "numbers, addresses or dates, on some servers",
}
"""What later documents have → what becomes of it, in many fields."""


@dataclass(frozen=True)
class ProposedField:
    """A field of the proposal, objects included.

    Attributes:
        has_several: Whether a document of the sample may have several values of it.
    """

    name: str
    choice: Choice
    has_several: bool = False

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
    """

    content: dict[str, Any]
    fields: tuple[ProposedField, ...]

    @property
    def text(self) -> str:
        """The file itself."""
        return json_text(self.content) + "\n"


def propose(sample: Sample, wishes: Wishes = NO_WISHES, has_type: Callable[[str], bool] = lambda _: False) -> Proposal:
    """The mapping that a sample's documents want.

    Args:
        has_type: Whether the servers have a type that not all builds have.

    Raises:
        ProfileError: There are more fields than an index takes, or too many values of one that no type takes, or a
            wish concerns a field that the sample lacks, or has no effect.
    """
    check_wishes(sample.root, wishes)
    refuse_mixed(sample.root, wishes)
    rules = Rules(sample.documents, wishes, has_type)
    properties, fields = declared_below(sample.root, rules)
    refuse_too_many(sample.root, len(fields))
    refuse_nested([of.name for of in fields if of.type == "nested"])
    refuse_lost_wishes(wishes, fields)
    refuse_idle_wishes(sample.root, rules, fields)
    used = {of.choice.declaration.get("analyzer") for of in fields}
    analyzers = {name: list(choices) for name, choices in ANALYZERS.items() if name in used}
    meta = {"inferred_from": sample.text, "later": LATER, "why": {of.name: of.choice.why for of in fields}}
    content: dict[str, Any] = {
        **({"text_analyzers": analyzers} if analyzers else {}),
        "settings": {},
        "mappings": {"dynamic": False, "_meta": meta, "properties": properties},
    }
    return Proposal(content, tuple(fields))


def declared_below(of: Field, rules: Rules) -> tuple[dict[str, Any], list[ProposedField]]:
    """The `properties` of an object, and all fields below it in the same order."""
    properties: dict[str, Any] = {}
    fields: list[ProposedField] = []
    for name, child in of.children.items():
        choice = rules.choice(child)
        properties[name] = dict(choice.declaration)
        several = bool(child.array_lengths) or child.values > child.documents
        fields.append(ProposedField(child.name, choice, several))
        if choice.declaration.get("type", "nested") == "nested":
            properties[name]["properties"], below = declared_below(child, rules)
            fields += below
    return properties, fields


def corrected(proposal: Proposal, ignored: Mapping[str, int], *, all_accepted: bool) -> Proposal:
    """The proposal with the truth in each line whose number of values that are not indexed servers do not confirm.

    Fields in nested objects are left out: their values are not counted by document.

    Args:
        ignored: Field → documents of the sample of which servers stored a value without indexing it.
        all_accepted: Whether servers have rejected no document of the sample.
    """
    nested = {of.name for of in proposal.fields if of.type == "nested"}
    fields = [
        of
        if not nested.isdisjoint(parents_of(of.name))
        else confirmed(of, ignored.get(of.name, 0), all_accepted=all_accepted)
        for of in proposal.fields
    ]
    mappings = proposal.content["mappings"]
    meta = {**mappings["_meta"], "why": {of.name: of.choice.why for of in fields}}
    return Proposal({**proposal.content, "mappings": {**mappings, "_meta": meta}}, tuple(fields))


def confirmed(of: ProposedField, ignored: int, *, all_accepted: bool) -> ProposedField:
    """The field, its line corrected if servers stored a value without indexing it in more or fewer documents."""
    most = of.choice.ignored
    least = (min(1, most) if of.has_several else most) if all_accepted else 0
    if "ignore_malformed" not in of.choice.declaration or not of.choice.is_indexed or least <= ignored <= most:
        return of
    why = f"{of.choice.why}; the check found another number: {ignored:,} documents with a value stored, not indexed"
    return replace(of, choice=replace(of.choice, why=why, has_odd=True, ignored=ignored))


def refuse_mixed(root: Field, wishes: Wishes) -> None:
    """Raise ProfileError if a field holds objects and other values, and more of the fewer ones than are tolerated."""
    problems = []
    for of in root.all_below():
        odd, least = of.misplaced, of.misplaced.count / max(1, of.values)
        if least <= wishes.tolerated or not wishes.unsearched.isdisjoint({of.name, *parents_of(of.name)}):
            continue
        few = counted(odd, of.values, NO_OBJECT if "object" in of.majority() else AN_OBJECT)
        enough = ceil(1000 * least) / 10
        tolerate = (
            f"--tolerate {enough:g}% sends their documents to the dead letters, " if least < MOST_TOLERATED else ""
        )
        problems.append(
            f"{of.name}: {few}, expected at most {100 * wishes.tolerated:g} % of a field: no type takes both; "
            f"{tolerate}--no-search {of.name} stores the field without searching it"
        )
    if problems:
        raise ProfileError("\n".join(problems))


def refuse_too_many(root: Field, fields: int) -> None:
    """Raise ProfileError if there are more fields than an index takes."""
    if root.unfit or fields > MOST_FIELDS:
        count = f"more than {MOST_FIELDS:,}" if root.unfit else f"{fields:,}"
        raise ProfileError(
            f"the documents have {count} fields, expected at most {MOST_FIELDS:,}, Elasticsearch's default limit; "
            "write a mapping by hand (mappings/README.md)"
        )


def refuse_nested(names: Sequence[str]) -> None:
    """Raise ProfileError if more fields are nested than an index takes."""
    if len(names) > MOST_NESTED:
        more = " ".join(f"--object {name}" for name in names[MOST_NESTED:])
        raise ProfileError(
            f"the documents have {len(names)} nested fields, expected at most {MOST_NESTED}, Elasticsearch's default "
            f"limit; map some of them as objects, such as {more}"
        )


def refuse_lost_wishes(wishes: Wishes, fields: Sequence[ProposedField]) -> None:
    """Raise ProfileError if a field that is searched is not indexed, or lies below one of which nothing is."""
    declared = {of.name: of.choice for of in fields}
    for name in sorted(wishes.searched & declared.keys()):
        if not declared[name].is_indexed:
            raise ProfileError(f"--search {name}: cannot be indexed: {declared[name].why}")
    for name in sorted(wishes.searched - declared.keys()):
        above = next(parent for parent in parents_of(name) if parent in declared)
        remedy = f"leave out --no-search {above}" if above in wishes.unsearched else f"search {above}"
        raise ProfileError(f"--search {name}: nothing below {above} is indexed: {declared[above].why}; {remedy}")


def refuse_idle_wishes(root: Field, rules: Rules, fields: Sequence[ProposedField]) -> None:
    """Raise ProfileError if a field is declared as an option states without that option, too.

    A field of objects among other values is left out: it is refused without its option.
    """
    declared, wishes = {of.name: of.choice for of in fields}, rules.wishes
    for of in root.all_below():
        if of.name not in declared or of.misplaced.count:
            continue
        for option, (wanted, anyway) in IDLE.items():
            names = getattr(wishes, wanted)
            if of.name not in names:
                continue
            without = replace(rules, wishes=replace(wishes, **{wanted: names - {of.name}})).choice(of)
            # A field that nobody may search is no longer asked about if it is named.
            answers = option == "search" and without.unsearched
            if without.declaration == declared[of.name].declaration and not answers:
                raise ProfileError(f"--{option} {of.name}: it is {anyway} anyway")


IDLE = {
    "search": ("searched", "indexed"),
    "no-search": ("unsearched", "only stored"),
    "object": ("objects", "an object"),
    "nested": ("nested", "nested"),
}
"""Option → wishes of that option, and what a field is without it where the option has no effect."""


def parents_of(name: str) -> Iterator[str]:
    """The objects that a field lies in, the innermost first."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def check_wishes(root: Field, wishes: Wishes) -> None:
    """Raise ProfileError if a wish concerns a field that the sample lacks, or contradicts another one."""
    names = {of.name for of in root.all_below()}
    of_options = {
        "search": wishes.searched,
        "no-search": wishes.unsearched,
        "object": wishes.objects,
        "nested": wishes.nested,
    }
    for option, wanted in of_options.items():
        for name in sorted(wanted - names):
            raise ProfileError(f'--{option}: unknown field "{name}", {suggestion(name, names, "a field of the file")}')
    for option, other in (
        ("search", "no-search"),
        ("object", "nested"),
        ("object", "no-search"),
        ("nested", "no-search"),
    ):
        for name in sorted(of_options[option] & of_options[other]):
            raise ProfileError(NAMED_TWICE.format(option=option, other=other, name=name))
    for of in root.all_below():
        for option in ("object", "nested"):
            if of.name in of_options[option]:
                check_objects(of, option, wishes.unsearched)


def check_objects(of: Field, option: str, unsearched: frozenset[str]) -> None:
    """Raise ProfileError if the objects of a field cannot be mapped in the way that an option states."""
    if "object" not in of.majority() & of.kinds:
        raise ProfileError(f"--{option} {of.name}: it holds no objects; --{option} is for arrays of them")
    if of.unfit:
        raise ProfileError(f"--{option} {of.name}: its names are values, or too deep; --no-search stores it")
    if above := next(filter(unsearched.__contains__, parents_of(of.name)), None):
        raise ProfileError(f"--{option} {of.name}: nothing below {above} is indexed; leave out --no-search {above}")


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
