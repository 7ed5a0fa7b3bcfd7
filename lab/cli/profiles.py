"""`sluice profiles`, `sluice suites`, `sluice show`: what can be run, and what exactly a profile asks for."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from lab.console import console
from lab.profiles import ListEntry, effective, list_profiles, load_profile
from lab.profiles.suites import list_suites


def profiles() -> None:
    """List the profiles with their questions."""
    show_questions("profile", list_profiles())


def suites() -> None:
    """List the suites with their questions."""
    show_questions("suite", list_suites())


def show_questions(what: str, entries: Iterable[ListEntry]) -> None:
    """A line for each of them."""
    table = Table(show_edge=False)
    table.add_column(what, no_wrap=True)
    table.add_column("question")
    for name, question in entries:
        table.add_row(escape(name), escape(question))
    console.print(table)


def show(
    profile: Annotated[str, typer.Argument(help="Profile: a name that `sluice profiles` lists, or a YAML file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the profile.")
    ] = None,
) -> None:
    """Show every value of a profile and where it comes from."""
    table = Table(show_edge=False)
    for column in ("key", "value", "from"):
        table.add_column(column, overflow="fold")
    for value in effective(load_profile(profile, overrides=settings or [])):
        table.add_row(escape(value.key), escape(str(value.value)), f"[dim]{escape(value.where)}[/dim]")
    console.print(table)
