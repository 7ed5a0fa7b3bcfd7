"""What became of dead letters that were sent again, and what both ways of sending them share."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lab.access import HIDDEN
from lab.errors import ProfileError
from lab.records import DeadLetterGroup
from lab.replay.dead_letters import Letter

AT_ONCE = 5_000

ACCEPTED = ("indexed", "updated", "deleted", "already there", "stale", "accepted")


@dataclass(frozen=True)
class Replay:
    """What became of the letters that were sent again.

    Attributes:
        sent: Letters that this replay has sent.
        earlier: Records that an earlier replay had sent and that the sink had not read before this one.
        fates: What became of all of them: `indexed`, `updated`, `deleted`, `already there` (or nothing to delete),
            `stale` (a newer version is stored), `dropped`, `refused`; `accepted` where the sink keeps no ledger.
        refused: Those that were refused again, by reason. They are dead letters again.
    """

    sent: int
    earlier: int = 0
    fates: Mapping[str, int] = field(default_factory=Counter)
    refused: tuple[DeadLetterGroup, ...] = ()

    @property
    def accepted(self) -> int:
        """Records whose document, or a newer one, is stored."""
        return sum(self.fates.get(fate, 0) for fate in ACCEPTED)


def replay_config(recorded: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """The connector's configuration for a replay: that of the run, with what is given in place of it.

    Raises:
        ProfileError: A secret of the run is missing; it was not written down.
    """
    config = {name: str(value) for name, value in recorded.items()} | dict(given)
    hidden = sorted(name for name, value in config.items() if value == HIDDEN)
    if hidden:
        raise ProfileError(
            f"connector: {', '.join(hidden)}: got nothing, as a run writes no secret down; give it with "
            f"--set {hidden[0]}=VALUE"
        )
    return config


def chunks(letters: Iterable[Letter]) -> Iterator[tuple[Letter, ...]]:
    """The letters, so many at once as are sent and marked together."""
    left = iter(letters)
    while chunk := tuple(islice(left, AT_ONCE)):
        yield chunk


def mark_after(letters: Iterable[Letter], before: Mapping[int, int]) -> dict[int, int]:
    """The mark that says these have been sent; it never goes back."""
    mark = dict(before)
    for letter in letters:
        mark[letter.at.partition] = max(mark.get(letter.at.partition, 0), letter.at.offset + 1)
    return mark
