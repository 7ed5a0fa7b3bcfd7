"""Options of the commands that propose a mapping for a file: `init` and `mapping infer`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from lab.errors import ProfileError
from lab.mapping.proposal import MOST_TOLERATED
from lab.mapping.types import Wishes

SAMPLE = 20_000
FIELDS = "Fields"
"""Group of options in a command's help."""

SampleOption = Annotated[int, typer.Option(min=1, help="Documents to read, at most, spread over the file.")]
KeyOption = Annotated[str | None, typer.Option(help="Field that holds the key, dotted where nested.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be written; write nothing.")]


@dataclass(frozen=True, kw_only=True)
class WishOptions:
    """What a mapping is to be like, as far as the documents do not tell."""

    search: Annotated[
        list[str] | None,
        typer.Option("--search", metavar="FIELD", help="Always index this field.", rich_help_panel=FIELDS),
    ] = None
    no_search: Annotated[
        list[str] | None,
        typer.Option("--no-search", metavar="FIELD", help="Only store this field.", rich_help_panel=FIELDS),
    ] = None
    as_object: Annotated[
        list[str] | None,
        typer.Option("--object", metavar="FIELD", help="Map this array as object, not nested.", rich_help_panel=FIELDS),
    ] = None
    nested: Annotated[
        list[str] | None,
        typer.Option("--nested", metavar="FIELD", help="Map these objects as nested.", rich_help_panel=FIELDS),
    ] = None
    tolerate: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="Share of a field's values that may be none of its type.", rich_help_panel=FIELDS
        ),
    ] = "1%"

    def __post_init__(self) -> None:
        """Refuse a wrong share before a file is read."""
        _ = self.tolerated

    @property
    def tolerated(self) -> float:
        """Share that `--tolerate` states; raises ProfileError if it is none of 0 to 50 %."""
        try:
            share = float(self.tolerate.strip().removesuffix("%")) / 100
        except ValueError:
            share = -1.0
        if not 0 <= share <= MOST_TOLERATED:
            raise ProfileError(
                f"--tolerate: got {self.tolerate}, expected a share of 0% to {MOST_TOLERATED:.0%}, such as 1%"
            )
        return share

    def wishes(self, key: str | None) -> Wishes:
        """The wishes, beside the key; raises ProfileError if `--tolerate` is no share."""
        named = (self.search, self.no_search, self.as_object, self.nested)
        searched, unsearched, objects, nested = (frozenset(names or ()) for names in named)
        return Wishes(key, searched, unsearched, objects, nested, self.tolerated)
