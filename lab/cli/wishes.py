"""Options of the commands that propose a mapping for a file: `init` and `mapping infer`."""

from typing import Annotated

import typer

from lab.errors import ProfileError
from lab.mapping.proposal import MOST_TOLERATED
from lab.mapping.types import Wishes

SAMPLE = 20_000
TOLERATE = "1%"
FIELDS = "Fields"
"""Group of options in a command's help."""

SampleOption = Annotated[int, typer.Option(min=1, help="Documents to read, at most, spread over the file.")]
KeyOption = Annotated[str | None, typer.Option(help="Field that holds the key, dotted where nested.")]
SearchOption = Annotated[
    list[str] | None,
    typer.Option("--search", metavar="FIELD", help="Always index this field.", rich_help_panel=FIELDS),
]
NoSearchOption = Annotated[
    list[str] | None,
    typer.Option("--no-search", metavar="FIELD", help="Only store this field.", rich_help_panel=FIELDS),
]
ObjectOption = Annotated[
    list[str] | None,
    typer.Option("--object", metavar="FIELD", help="Map this array as object, not nested.", rich_help_panel=FIELDS),
]
NestedOption = Annotated[
    list[str] | None,
    typer.Option("--nested", metavar="FIELD", help="Map these objects as nested.", rich_help_panel=FIELDS),
]
TolerateOption = Annotated[
    str,
    typer.Option(
        metavar="PERCENT",
        help="Share of a field's values that may be none of its type.",
        rich_help_panel=FIELDS,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be written; write nothing.")]


def share_of(tolerate: str) -> float:
    """Share that `--tolerate` states.

    Raises:
        ProfileError: It is none of 0 to 50 %.
    """
    try:
        share = float(tolerate.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= MOST_TOLERATED:
        raise ProfileError(f"--tolerate: got {tolerate}, expected a share of 0% to {MOST_TOLERATED:.0%}, such as 1%")
    return share


def wishes_of(
    key: str | None,
    *,
    search: list[str] | None,
    no_search: list[str] | None,
    as_object: list[str] | None,
    nested: list[str] | None,
    tolerate: str,
) -> Wishes:
    """Wishes that the options state.

    Raises:
        ProfileError: `--tolerate` is no share.
    """
    searched, unsearched, objects, apart = (frozenset(names or ()) for names in (search, no_search, as_object, nested))
    return Wishes(key, searched, unsearched, objects, apart, share_of(tolerate))
