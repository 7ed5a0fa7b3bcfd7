"""`sluice init`: from a file of one's own to a profile, a mapping and a suite."""

from collections import Counter
from typing import Annotated

import typer
from rich.markup import escape

from lab.console import console
from lab.init.files import key_text, name_from, texts_of, write_files
from lab.mapping.proposal import Proposal, propose
from lab.mapping.sample import read_sample
from lab.mapping.types import Wishes

SAMPLE = 20_000


def init(
    file: Annotated[str, typer.Argument(help="One JSON object per line; also .gz and .zst.")],
    *,
    name: Annotated[str | None, typer.Option(help="Name of the profile; by default from the name of the file.")] = None,
    key: Annotated[str | None, typer.Option(help="Field that holds the key, dotted where nested.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Documents to read, at most.")] = SAMPLE,
) -> None:
    """Propose a profile, mapping and suite for your own file."""
    read = read_sample(file, sample, key)
    chosen = name or name_from(file)
    proposal = propose(read, Wishes(key=read.key))
    texts = texts_of(read, proposal, chosen)
    write_files(texts)
    reading = f"read {read.text}" + ("" if read.whole else "; --sample reads more")
    for line in (reading, key_text(read), *mapping_lines(proposal)):
        console.print(escape(line), soft_wrap=not console.is_terminal)
    for path in texts:
        console.print(f"written: {path}", soft_wrap=True)
    console.print("next:")
    for command, what in (("show", "every value"), ("run", "load it once"), ("suite", "which setting is faster")):
        console.print(f"  ./sluice {command} {chosen}  [dim]# {what}[/dim]", soft_wrap=True)


def mapping_lines(proposal: Proposal) -> list[str]:
    """What the mapping is, and why, in up to four lines."""
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(of.type for of in proposal.fields).most_common())
    why = proposal.why_dynamic
    lines = [f"mapping: {counts}. {why[:1].upper()}{why[1:]}."]
    if nested := [of.name for of in proposal.fields if of.type == "nested"]:
        lines.append(
            f"nested: {', '.join(nested)}. Each object of these arrays is indexed as a document of its own, so that "
            "a query can match two fields of one object; `object` costs less."
        )
    if others := [
        f"{of.name} ({of.choice.why})" for of in proposal.fields if of.choice.declaration.get("ignore_malformed")
    ]:
        lines.append(f"not all dates: {', '.join(others)}.")
    if stored := [f"{of.name} ({of.choice.why})" for of in proposal.fields if of.type == "stored only"]:
        lines.append(f"not indexed: {', '.join(stored)}.")
    return lines
