"""`sluice init`: from a file of one's own to a profile, a mapping and a suite."""

from collections import Counter
from typing import Annotated, Any

import typer
from rich.markup import escape

from lab.console import console
from lab.init.files import key_text, name_from, sampled, texts_of, write_files
from lab.init.mapping import WHY_NOT_DYNAMIC, declared, mapping_of
from lab.init.sample import read_sample

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
    texts = texts_of(read, chosen)
    write_files(texts)
    reading = f"read {sampled(read)}" + ("" if read.whole else "; --sample reads more")
    for line in (reading, key_text(read), *mapping_lines(mapping_of(read.root))):
        console.print(escape(line), soft_wrap=not console.is_terminal)
    for path in texts:
        console.print(f"written: {path}", soft_wrap=True)
    console.print("next:")
    for command, what in (("show", "every value"), ("run", "load it once"), ("suite", "which setting is faster")):
        console.print(f"  ./sluice {command} {chosen}  [dim]# {what}[/dim]", soft_wrap=True)


def mapping_lines(mapping: dict[str, Any]) -> list[str]:
    """What the mapping is, and why, in up to three lines."""
    fields = dict(declared(mapping["mappings"]["properties"]))
    types = Counter(of.get("type", "object") for of in fields.values())
    counts = ", ".join(f"{count} {kind}" for kind, count in types.most_common())
    lines = [f"mapping: {counts}. {WHY_NOT_DYNAMIC.capitalize()}."]
    if nested := [path for path, of in fields.items() if of.get("type") == "nested"]:
        lines.append(
            f"nested: {', '.join(nested)}. Each object of these arrays is indexed as a document of its own, so that "
            "its fields are not mixed up with those of its neighbours; `object` costs less."
        )
    if stored := [path for path, of in fields.items() if of.get("enabled") is False]:
        lines.append(f"not indexed: {', '.join(stored)}. Their names vary, or they are not always objects.")
    return lines
