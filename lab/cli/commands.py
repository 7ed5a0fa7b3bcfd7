"""The commands by name. Only the module of the one that is called is imported, so that `--help` is there at once."""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from lab import IS_CHECKOUT
from lab.errors import ProfileError, refuse_without_checkout

GROUPS = {
    "Measure": {
        "run": ".run:run",
        "suite": ".suite:suite",
        "race": ".suite:race",
        "rehearse": ".rehearse:rehearse",
        "screen": ".tune:screen",
        "tune": ".tune:tune",
        "compare": ".compare:compare_runs",
        "report": ".report:report",
        "prove": ".prove:prove_pipeline",
        "runs": ".history:runs",
        "label": ".labels:label",
        "page": ".page:page",
        "size": ".size:size",
        "inspect": ".inspect:inspect",
    },
    "Choose": {
        "init": ".init:init",
        "mapping": ".mapping:mapping",
        "profiles": ".profiles:profiles",
        "show": ".profiles:show",
        "suites": ".profiles:suites",
    },
    "Servers": {
        "up": ".stack:up",
        "status": ".stack:status",
        "env": ".stack:env",
        "logs": ".stack:logs",
        "restart": ".stack:restart",
        "down": ".stack:down",
        "clean": ".stack:clean",
        "doctor": ".doctor:doctor",
    },
    "Documents": {
        "produce": ".produce:produce",
        "gather": ".produce:gather",
        "capture": ".capture:capture",
        "dead-letters": ".dead_letters:dead_letters",
        "audit": ".audit:audit",
        "trace": ".trace:trace",
    },
    "Kibana": {
        "publish": ".publish:publish",
        "dashboards": ".publish:dashboards",
        "watch": ".stream:watch",
    },
    "Containers and development": {
        "stream": ".stream:stream",
        "compose-env": ".profiles:compose_env",
        "test": "tests.checks:test",
    },
}
"""The commands as the help groups them: command → module (of this package where it begins with a dot) and function."""

MAY_BE_EMPTY = frozenset({"--note"})
"""Options whose empty value says that there is none."""

OF_A_CHECKOUT = frozenset({"compose-env", "test"})
"""Commands with nothing to work on in an installed package or an image: no Compose files, no tests."""

COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}
"""Command → module and function; that of a command with commands of its own is its app's callback."""


TYPES = {"<bool>": "", "<int range>": "<int>", "<float range>": "<number>", "<float>": "<number>"}
"""What Typer's help calls a type → what ours does: a flag takes no value, and a range is stated beside it."""


def with_short_types(params: Iterable[Any], context: Any) -> list[Any]:
    """The parameters of a command, whose options leave their help more room."""
    shortened = list(params)
    for param in shortened:
        if isinstance(param, TyperOption) and param.metavar is None:
            kind = param.display_type(context)
            param.metavar = TYPES.get(kind)
    return shortened


class Commands(TyperGroup):
    """A group whose commands are imported when they are called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Among these Typer looks for what was probably meant.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options."""
        return with_short_types(super().get_params(ctx), ctx)

    def list_commands(self, _: Any) -> list[str]:
        """The names, in the order of the help."""
        return [name for name in COMMANDS if IS_CHECKOUT or name not in OF_A_CHECKOUT]

    def get_command(self, _: Any, name: str) -> Any:
        """The command with no more than its name and its help; `None` if there is none of that name."""
        group = next((group for group, commands in GROUPS.items() if name in commands), None)
        if group is None:
            return None
        text = help_of(COMMANDS[name])
        first_sentence = re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
        return TyperCommand(name, help=text, short_help=first_sentence, rich_help_panel=group)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whole, and its arguments.

        Raises:
            ProfileError: It needs a checkout, or an argument is empty.
        """
        refuse_empty(args)
        if args[0] == "help":
            args = [*args[1:], "--help"]
        if args[0] in OF_A_CHECKOUT:
            refuse_without_checkout(args[0])
        name, command, rest = super().resolve_command(ctx, args)
        return name, loaded(name) if name else command, rest


def refuse_empty(words: Sequence[str]) -> None:
    """Refuse empty values, as of a shell's variable that is not set: an empty path is the current folder.

    Raises:
        ProfileError: There is one that means nothing.
    """
    for before, word in pairwise(("", *words)):
        has_its_value = word.startswith("--") and word.endswith("=")
        if word and not has_its_value:
            continue
        option = word.removesuffix("=") if has_its_value else before
        if option not in MAY_BE_EMPTY:
            name = option if option.startswith("-") else "an argument"
            raise ProfileError(f"{name}: got an empty value, as of a variable that is not set")


def help_of(place: str) -> str:
    """The docstring of a command's function, read without importing its module."""
    module, _, function = place.partition(":")
    spec = find_spec(module, __package__)
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - the table names modules that are there
    tree = ast.parse(Path(spec.origin).read_bytes())
    defined = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return ast.get_docstring(defined) or ""


def loaded(name: str) -> Any:
    """A command, or a group of commands."""
    module_name, _, function = COMMANDS[name].partition(":")
    module = import_module(module_name, __package__)
    command = getattr(module, function)
    app = getattr(module, "app", None)
    if app is None or app.registered_callback.callback is not command:
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name)(command)
    made: Any = typer.main.get_command(app)
    for each in (made, *getattr(made, "commands", {}).values()):
        each.get_params = partial(params_of, type(each).get_params, each)
    return made


def params_of(of_class: Callable[[Any, Any], list[Any]], command: Any, context: Any) -> list[Any]:
    """The parameters of a command that Typer has made."""
    return with_short_types(of_class(command, context), context)
