"""`sluice init`: from a file of one's own to a profile, a mapping and a suite."""

from collections import Counter
from typing import Annotated

import typer
from rich.markup import escape

from lab.cli.options import with_groups
from lab.cli.wishes import SAMPLE, DryRunOption, KeyOption, SampleOption, WishOptions
from lab.console import console
from lab.init.files import key_text, name_from, refuse_taken, texts_of, write_files
from lab.mapping.proposal import LATER, Proposal, propose
from lab.mapping.sample import read_sample


@with_groups
def init(
    file: Annotated[str, typer.Argument(help="Your documents, in any form (docs/files.md).")],
    *,
    name: Annotated[str | None, typer.Option(help="Name of the profile; by default from the name of the file.")] = None,
    key: KeyOption = None,
    sample: SampleOption = SAMPLE,
    wanted: WishOptions,
    dry_run: DryRunOption = False,
) -> None:
    """Propose a profile, mapping and suite for your own file."""
    read = read_sample(file, sample, key)
    chosen = name or name_from(file)
    wishes = wanted.wishes(read.key)
    proposal = propose(read, wishes)
    texts = texts_of(read, proposal, chosen)
    refuse_taken(texts)
    if not dry_run:
        write_files(texts)
    reading = f"read {read.text}" + ("" if read.whole else "; --sample reads more")
    for line in (reading, key_text(read), *mapping_lines(proposal)):
        console.print(escape(line), soft_wrap=not console.is_terminal)
    if dry_run:
        for path, text in texts.items():
            console.print(f"not written: {path}\n{escape(text)}", soft_wrap=True)
        return
    for path in texts:
        console.print(f"written: {path}", soft_wrap=True)
    console.print("next:")
    for command, what in (
        (f"show {chosen}", "every value"),
        ("up", "keep servers, and with them what a run rejects"),
        (f"run {chosen}", "load it once"),
        (f"mapping check {chosen} --path LATER", "does the mapping take a later file?"),
        (f"suite {chosen}", "which setting is faster"),
    ):
        console.print(f"  ./sluice {command}  [dim]# {what}[/dim]", soft_wrap=True)


def mapping_lines(proposal: Proposal) -> list[str]:
    """What the mapping is, and why, in a few lines."""
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(of.type for of in proposal.fields).most_common())
    lines = [" ".join([f"mapping: {counts}.", *(f"{line[:1].upper()}{line[1:]}." for line in LATER.values())])]
    if nested := [of.name for of in proposal.fields if of.type == "nested"]:
        lines.append(
            f"nested: {', '.join(nested)}. Each object of these arrays is indexed as a document of its own, so that "
            "a query can match two fields of one object; `object` costs less."
        )
    if odd := [f"{of.name} ({of.choice.why})" for of in proposal.fields if of.choice.has_odd]:
        lines.append(f"odd values: {', '.join(odd)}.")
    if stored := [f"{of.name} ({of.choice.why})" for of in proposal.fields if of.type == "stored only"]:
        lines.append(f"not indexed: {', '.join(stored)}.")
    return lines
