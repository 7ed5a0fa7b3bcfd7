"""`sluice profiles`, `suites`, `show`, `compose-env`: what can be run, and what exactly a profile asks for."""

from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from lab.cli.options import JsonOption, ProfileArgument, SettingsOption
from lab.console import console, print_json, table_of
from lab.errors import ProfileError
from lab.profiles import ListEntry, effective, list_profiles, load_profile
from lab.profiles.containers import FOLDER, env_files
from lab.profiles.suites import list_suites
from lab.stack.places import ROOT


def profiles(*, as_json: JsonOption = False) -> None:
    """List the profiles with their questions."""
    show_questions("profile", list_profiles(), as_json=as_json)


def suites(*, as_json: JsonOption = False) -> None:
    """List the suites with their questions."""
    show_questions("suite", list_suites(), as_json=as_json)


def show_questions(what: str, entries: Iterable[ListEntry], *, as_json: bool) -> None:
    """A line for each of them."""
    if as_json:
        print_json([{"name": name, "question": question} for name, question in entries])
        return
    table = Table(show_edge=False)
    table.add_column(what, no_wrap=True)
    table.add_column("question")
    for name, question in entries:
        table.add_row(escape(name), escape(question))
    console.print(table)


def show(
    profile: ProfileArgument,
    settings: SettingsOption = None,
) -> None:
    """Show every value of a profile and where it comes from."""
    rows = (
        (escape(value.key), escape(str(value.value)), f"[dim]{escape(value.where)}[/dim]")
        for value in effective(load_profile(profile, overrides=settings or []))
    )
    console.print(table_of(rows, "key", "value", "from"))


def compose_env() -> None:
    """Write compose/experiments/ from experiments/profiles/, after you add or change a profile."""
    texts = dict(env_files(ROOT))
    changed = 0
    try:
        for path in sorted((ROOT / FOLDER).rglob("*.env")):
            if path.relative_to(ROOT) not in texts:
                path.unlink()
                changed += 1
        for name, text in texts.items():
            path = ROOT / name
            if not path.is_file() or path.read_text("utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                changed += 1
    except OSError as error:
        raise ProfileError(f"{error.filename}: cannot be written ({error.strerror})") from error
    console.print(f"{FOLDER}: {len(texts)} files, {changed} changed")
