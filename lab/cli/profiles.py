"""`sluice profiles`, `suites`, `show`, `compose-env`: what can be run, and what exactly a profile asks for."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.markup import escape
from rich.table import Table

from lab.analysis.text import count, figure
from lab.cli.options import ALADIN, JsonOption, ProfileArgument, SettingsOption
from lab.console import console, print_json, table_of
from lab.errors import ProfileError, unwritable
from lab.files import write_whole
from lab.profiles import ListEntry, effective, list_profiles, load_profile
from lab.profiles.containers import FOLDER, MEMORY_FILE, env_files, memory_file
from lab.profiles.loader import FOLDER as PROFILES
from lab.profiles.loader import stated_values
from lab.profiles.suites import list_suites
from lab.run.query.own_answers import told_beforehand
from lab.stack.places import ROOT

FilterArgument = Annotated[str | None, typer.Argument(metavar="TEXT", help="Only those with this text in their name.")]


def profiles(text: FilterArgument = None, *, as_json: JsonOption = False) -> None:
    """List the profiles with their questions and sizes."""
    chosen = matching(list_profiles(), text, "profile")
    sizes = {entry.name: size_of(entry.name) for entry in chosen}
    if as_json:
        print_json([{"name": name, "question": question, **sizes[name]} for name, question in chosen])
        return
    show_questions("profile", [(*entry, size_text(sizes[entry.name])) for entry in chosen])
    if any(name.startswith("aladin/") for name, _ in chosen):
        console.print(f"[dim]{ALADIN}[/dim]")


def suites(text: FilterArgument = None, *, as_json: JsonOption = False) -> None:
    """List the suites with their questions."""
    chosen = matching(list_suites(), text, "suite")
    if as_json:
        print_json([entry._asdict() for entry in chosen])
        return
    show_questions("suite", [(*entry, "") for entry in chosen])


def matching(entries: Iterable[ListEntry], text: str | None, what: str) -> list[ListEntry]:
    """The entries with a text in their name; raises ProfileError if there is none."""
    chosen = [entry for entry in entries if text is None or text.casefold() in entry.name.casefold()]
    if not chosen:
        raise ProfileError(f'no {what} has "{text}" in its name; ./sluice {what}s lists all of them')
    return chosen


def size_of(name: str) -> dict[str, object]:
    """How much a profile loads, on how many nodes, and how; nothing of one that needs more, such as a path."""
    try:
        profile = load_profile(name)
    except ProfileError:
        return {}
    return {
        "documents": profile.dataset.documents,
        "books": profile.dataset.books,
        "data_nodes": profile.elasticsearch.data_nodes,
        "load": profile.load.mode,
        "rate_docs_per_s": profile.load.rate_docs_per_s,
    }


def size_text(size: Mapping[str, Any]) -> str:
    """`200,000 books · 2 nodes · drain`."""
    if not size:
        return ""
    amount = next((f"{count(size[unit])} {unit}" for unit in ("documents", "books") if size[unit]), "a whole file")
    nodes = f"{size['data_nodes']} node{'' if size['data_nodes'] == 1 else 's'}"
    rate = f" at {figure(size['rate_docs_per_s'], 'docs/s')}" if size["rate_docs_per_s"] else ""
    return f"{amount} · {nodes} · {size['load']}{rate}"


def show_questions(what: str, entries: Iterable[tuple[str, str, str]]) -> None:
    """Name, question and size of each of them."""
    table = Table(show_edge=False)
    table.add_column(what, no_wrap=True)
    table.add_column("question")
    for name, question, size in entries:
        table.add_row(escape(name), escape(question) + (f"\n[dim]{escape(size)}[/dim]" if size else ""))
    console.print(table)


def show(
    profile: ProfileArgument,
    settings: SettingsOption = None,
    *,
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Print a YAML file to start your own profile; omits defaults.")
    ] = False,
) -> None:
    """Show every value of a profile and where it comes from."""
    chosen = load_profile(profile, overrides=settings or [])
    if as_yaml:
        text = yaml.safe_dump(stated_values(chosen), sort_keys=False, allow_unicode=True, width=120)
        console.print(text, end="", soft_wrap=True, markup=False)
        return
    console.print(f"[bold]{escape(chosen.name)}[/bold]: {escape(chosen.question)}")
    rows = [
        (escape(value.key), escape(str(value.value)), f"[dim]{escape(shortened(value.where))}[/dim]")
        for value in effective(chosen)
        if value.key != "question"
    ]
    if console.width < WIDE:
        console.print(
            table_of(((key, f"{value} {where}") for key, value, where in rows), "key", "value", whole=("key",))
        )
    else:
        console.print(table_of(rows, "key", "value", "from", whole=("key",)))
    for sentence in told_beforehand(chosen, ROOT):
        console.print(escape(sentence))


def shortened(where: str) -> str:
    """`quickstart:5` for `experiments/profiles/quickstart.yaml:5`; a file elsewhere has its path."""
    name, colon, line = where.removeprefix(f"{PROFILES.as_posix()}/").rpartition(":")
    return f"{name.removesuffix('.yaml')}{colon}{line}" if where.startswith(PROFILES.as_posix()) else where


def compose_env() -> None:
    """Write compose/experiments/ and deploy/kubernetes/profiles/. Needed after you add or change a profile."""
    from lab.stream import kubernetes  # noqa: PLC0415 - only this command needs Kafka's client, which takes a while

    write_all(FOLDER, "*.env", dict(env_files(ROOT)))
    write_all(MEMORY_FILE.parent, MEMORY_FILE.name, dict([memory_file()]))
    write_all(kubernetes.FOLDER, "*.yaml", dict(kubernetes.manifests(ROOT)))


def write_all(folder: Path, pattern: str, texts: Mapping[Path, str]) -> None:
    """Have exactly these files, and those that are written by hand, in a folder of the checkout.

    Raises:
        ProfileError: One cannot be written.
    """
    changed = 0
    try:
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path.relative_to(ROOT) not in texts and path.name not in BY_HAND:
                path.unlink()
                changed += 1
        for name, text in texts.items():
            path = ROOT / name
            if not path.is_file() or path.read_text("utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, text)
                changed += 1
    except OSError as error:
        raise unwritable(f"{error.filename}: cannot be written", error) from error
    console.print(f"{folder}: {len(texts)} files, {changed} changed")


WIDE = 80
"""Columns in which the places of values have room for a column of their own."""

BY_HAND = frozenset({"kustomization.yaml"})
"""What stands beside the files of the profiles and says which is chosen."""
