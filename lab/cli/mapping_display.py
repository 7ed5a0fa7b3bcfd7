"""What `sluice mapping` shows: fields with their types and reasons, a comparison, and the costs of fields."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.markup import escape

from lab.analysis.suite.folder import SuiteRecords
from lab.cli.dead_letters_display import print_groups, shown
from lab.clients.kafka import Place
from lab.console import console, table_of
from lab.mapping.check import Indexed, Rejection
from lab.mapping.costs import beside_dynamic, costs_of, rejected
from lab.mapping.proposal import LATER, Proposal, ProposedField
from lab.mapping.suites import DYNAMIC
from lab.mapping.units import Unit
from lab.records.suite import SuiteResult
from lab.records.verification import DeadLetterGroup, StoredOnly
from lab.replay.dead_letters import FIRST_NAMED, Letter, groups_of, kind_of
from lab.run.verify.refusal_reasons import Reason

MEASURED_HERE = (
    "of used books with 5 offers (docs/measurements/suites.md), each such document took 0.37 to 0.39 times the CPU of "
    "a nested book, so 2.2 to 2.3 times per book; but a changed offer then indexes one of them again, and not all six"
)


def show_proposal(proposal: Proposal) -> None:
    """Each field with its type and why; then what data alone cannot say."""
    rows = ((escape(of.name), of.type, escape(of.choice.why)) for of in proposal.fields)
    console.print(table_of(rows, "field", "type", "why"))
    later = " ".join(f"{line[:1].upper()}{line[1:]}." for line in LATER.values())
    for line in (later, *unsearched_lines(proposal), *nested_lines(proposal)):
        console.print(escape(line), soft_wrap=not console.is_terminal)


def unsearched_lines(proposal: Proposal) -> list[str]:
    """Which fields nobody may ever search, and how to say so."""
    seldom = [of for of in proposal.fields if of.choice.unsearched and of.type != "stored only"]
    if not seldom:
        return []
    named = ", ".join(f"{of.name} ({of.choice.unsearched})" for of in seldom)
    return [f"Possibly never searched: {named}. If so, {options('no-search', seldom)} saves index and doc values."]


def nested_lines(proposal: Proposal) -> list[str]:
    """What the ways to store arrays of objects cost."""
    nested = [of for of in proposal.fields if of.type == "nested"]
    if not nested:
        return []
    return [
        f"Arrays of objects: {', '.join(of.name for of in nested)}.",
        "- nested (proposed): each object is a document of its own, so that a query finds two fields of the same one",
        f"- object ({options('object', nested)}): cheapest; a query may match fields of different objects",
        "- flattened: the array is one field, every value a keyword; mixed up like object; not measured here",
        f"- documents of their own: {MEASURED_HERE}",
    ]


def options(name: str, fields: Sequence[ProposedField]) -> str:
    """The options that say something of these fields."""
    return " ".join(f"--{name} {of.name}" for of in fields)


def analyzers_text(settings: Mapping[str, object]) -> list[str]:
    """What stands for the analyzers that a mapping names on some servers, by the settings of an index there."""
    prefix, suffix = "index.analysis.analyzer.", ".type"
    return [
        f"{name.removeprefix(prefix).removesuffix(suffix)} is `{value}` there"
        for name, value in settings.items()
        if name.startswith(prefix) and name.endswith(suffix)
    ]


class Rejected:
    """Documents that a mapping rejects, in groups as a run's dead letters are; the first of each kind are kept."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Reason, str | None]] = Counter()
        self._first: list[Letter] = []
        self._lines: dict[Place, str] = {}

    def add(self, rejection: Rejection) -> None:
        """Count one more."""
        place = Place("", 0, self._counts.total())
        letter = Letter(place, place, place, None, rejection.document, (), 0, rejection.answer)
        kind = kind_of(letter)
        self._counts[kind] += 1
        if self._counts[kind] <= FIRST_NAMED:
            self._first.append(letter)
            self._lines[place] = str(rejection.where)

    @property
    def groups(self) -> list[DeadLetterGroup]:
        """By reason and field, most frequent first, with the value that failed of the first document of each."""
        groups = [
            each.model_copy(update={"records": self._counts[Reason(each.status, each.type, each.cause), each.field]})
            for each in groups_of(self._first, self._lines, values=True)
        ]
        return sorted(groups, key=lambda group: -group.records)


def show_check(done: Indexed, rejected: Rejected, stored: StoredOnly) -> None:
    """Number of documents that are indexed, those that are rejected, and those with a value that is only stored."""
    outcome = f"{done.rejected:,} rejected, which a run sends to the dead letters" if done.rejected else "none rejected"
    console.print(f"checked: {done.documents - done.rejected:,} of {done.documents:,} documents indexed, {outcome}")
    if done.rejected:
        print_groups(rejected.groups)
    if stored.documents:
        console.print(escape(shown(stored.text)), soft_wrap=not console.is_terminal)


def show_beside_dynamic(suite: SuiteRecords, result: SuiteResult, mapping: str) -> None:
    """The mapping beside dynamic mapping, with what each of them rejects."""
    rows = beside_dynamic(result, mapping)
    by_dynamic, by_mapping = rejected(suite, (DYNAMIC, mapping))
    rows.append(("rejected", by_dynamic, by_mapping, ""))
    named = escape(mapping)
    cells = (tuple(map(escape, row)) for row in rows)
    console.print(table_of(cells, "", DYNAMIC, named, "ratio (interval)", right=(DYNAMIC, named)))


def show_costs(result: SuiteResult, units: Sequence[Unit]) -> None:
    """The table of costs, the dearest field first."""
    cells = (tuple(map(escape, cost.cells)) for cost in costs_of(result, units))
    columns = ("field", "type", "sample", "cost in size", "cost in CPU")
    table = table_of(cells, *columns, right=columns[2:])
    for column in table.columns[1:]:
        # Long names are folded sooner than figures.
        column.no_wrap = True
    console.print(table)
    console.print(
        "Costs: the share saved by not indexing the field, with the interval. Not indexed means `enabled: false`: "
        "_source keeps the value, and nothing else does. Sample: what _disk_usage says of a sample's index.",
        soft_wrap=not console.is_terminal,
    )
