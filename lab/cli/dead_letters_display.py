"""Dead letters on the terminal: groups, single letters, and what became of those that were sent again."""

import re
from collections.abc import Iterable, Sequence

from rich.markup import escape

from lab.analysis.text import quantity
from lab.console import console, table_of
from lab.errors import VerificationError
from lab.records.verification import DeadLetterGroup
from lab.replay.dead_letters import Letter
from lab.replay.replay import Replay

LONGEST_VALUE = 80
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal would obey, not show: a document may hold any, and nobody has checked it."""


def print_groups(groups: Sequence[DeadLetterGroup]) -> None:
    """One row for each status, reason and field; what all records have in common, their file or topic, stands above."""
    lines = [line for group in groups for line in group.lines]
    common = {line.rpartition(":")[0] for line in lines if line}
    if lines and all(lines) and len(common) == 1:
        console.print(f"[dim]records as lines of {escape(common.pop())}[/dim]", soft_wrap=True)
        first = {id(group): [(line or "").rpartition(":")[2] for line in group.lines] for group in groups}
    else:
        topics = {place.rpartition("-")[0] for group in groups for place in group.first}
        topic = topics.pop() if len(topics) == 1 else ""
        if topic:
            console.print(f"[dim]records as partition@offset of {escape(topic)}[/dim]", soft_wrap=True)
        first = {id(group): [place.removeprefix(f"{topic}-") for place in names_in(group)] for group in groups}
    rows = (
        (
            str(group.status or "–"),
            escape(reason_text(group)),
            f"{group.records:,}",
            escape("\n".join(first[id(group)])),
        )
        for group in groups
    )
    console.print(table_of(rows, "status", "reason", "records", "first of them", right=("records",)))


def names_in(group: DeadLetterGroup) -> Iterable[str]:
    """The first records of a group: their lines where they are known, else their places."""
    lines = group.lines or (None,) * len(group.first)
    return (line or place for line, place in zip(lines, group.first, strict=True))


def reason_text(group: DeadLetterGroup) -> str:
    """The reason of a group; below it the field if the reason does not show it, and the value that failed."""
    reason = shown(": ".join(filter(None, (group.type, group.cause))))
    if group.field is None or (group.value is None and f"[{group.field}]" in group.cause):
        return reason
    return f"{reason}\n{field_text(group.field, group.value)}"


def field_text(field: str, value: str | None) -> str:
    """A field with its value, cut off after 80 characters."""
    if value is None:
        return shown(f"field {field}")
    return shown(f"{field}: {value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + '…'}")


def shown(text: str) -> str:
    """Text of a document or of a server for the terminal."""
    return CONTROLS.sub("\ufffd", text)


def print_letter(letter: Letter, line: str | None) -> None:
    """A dead letter for a reader: its reason, where it came from, field and value, the document."""
    console.print(f"\n[bold]{escape(shown(letter.reason))}[/bold]", soft_wrap=True)
    if line:
        console.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)
    if letter.origin != letter.refused_at:
        console.print(f"[dim]first rejected at {escape(str(letter.origin))}[/dim]", soft_wrap=True)
    failed, value = letter.failed, letter.failed_value
    # The reason itself shows the field, and mostly the value.
    if failed and value and failed.preview not in {value.decode(), value.decode().strip('"')}:
        console.print(field_text(failed.path, value.decode()), markup=False, soft_wrap=True)
    document = shown((letter.value or b"(a tombstone)").decode(errors="replace"))
    console.print(document, markup=False, soft_wrap=True)


def print_outcome(outcome: Replay) -> None:
    """What became of the letters; raises VerificationError if not all of them were accepted."""
    total = outcome.sent + outcome.earlier
    if not total:
        console.print("nothing to replay: no such dead letter, or each was sent again or discarded before")
        return
    if outcome.earlier:
        console.print(f"{quantity(outcome.earlier, 'record')} of an earlier replay had not been read yet")
    outcomes = ", ".join(f"{records:,} {name}" for name, records in outcome.outcomes.items() if records)
    console.print(f"{quantity(outcome.sent, 'dead letter')} sent again: {outcomes}")
    if outcome.refused:
        print_groups(outcome.refused)
    if outcome.accepted != total:
        raise VerificationError(
            f"{quantity(total - outcome.accepted, 'dead letter')} of {total:,} not accepted; fix the mapping as the "
            "reasons say, and replay again"
        )
