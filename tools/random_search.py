"""Random search with the servers, the time and the confirmation of `sluice tune`, to hold its figures against.

    python3 -m tools.random_search aladin/control --space aladin --minutes 60 --seed 1

Combinations are drawn from all that a space allows, each runs in one block beside the start, and the best is confirmed.
Every run counts, the first of a combination, too: another uncounted one for each would leave time for half as many.
Run it with the environment of `./sluice`. It writes a folder of `runs/tunes`, as `tune` does.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lab.analysis.tune.estimates import Measured
from lab.cli.app import end_by_signals
from lab.cli.options import RUNS
from lab.cli.tune import TuneOptions, Tuning, conclude_tune
from lab.profiles.spaces import Start
from lab.records.tune import Combination, Stage
from lab.targets import TargetName
from lab.targets.choose import servers_of
from lab.tune.search import Search, Times, block_s


@dataclass(frozen=True)
class RandomSearch(Search):
    """Draws what it tries, once; the choice and its confirmation are those of every search.

    Attributes:
        starting_s: What passes before the first run that counts.
    """

    starting_s: float = 0.0

    def next_stage(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """All that there is time for, then the best of it against the start; `None` when nothing is left to do."""
        if not measured:
            number = int((times.search_s - self.starting_s) / block_s([times.run_s] * 2, times.run_s) * 2)
            return Stage(number=1, kind="mixed", combinations=self.all_drawn(number), blocks=1)
        chosen = self.chosen(self.known(measured), measured)
        if measured[-1].stage.kind == "confirm" or chosen is None:
            return None
        return Stage(number=2, kind="confirm", combinations=(chosen,), blocks=None)

    def all_drawn(self, number: int) -> tuple[Combination, ...]:
        """So many different combinations, or all where there are fewer."""
        possible = [each for each in self.combinations() if each and self.is_possible(each)]
        draw = np.random.default_rng(self.seed)
        places = draw.choice(len(possible), size=min(number, len(possible)), replace=False)
        return tuple(possible[place] for place in places)

    def combinations(self) -> list[Combination]:
        """A candidate of each knob, or none of it; all together none is the start."""
        of_knob: dict[str, list[Combination]] = {}
        for candidate in self.candidates:
            of_knob.setdefault(candidate.setting, [()]).append((candidate.name,))
        return [sum(names, ()) for names in product(*of_knob.values())]


def main() -> int:
    """Search, confirm and report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile")
    parser.add_argument("--space", default="default")
    parser.add_argument("--goal", default="rate")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=RUNS)
    given = parser.parse_args()
    end_by_signals()
    options = TuneOptions(given.goal, (), given.minutes, given.seed, given.space, (), TargetName.LOCAL)
    tuning = Tuning.of(Start.of(given.profile, ()), options, servers_of(TargetName.LOCAL, None))
    command = ("python3", "-m", "tools.random_search", *sys.argv[1:])
    tuning = replace(tuning, plan=tuning.plan.model_copy(update={"command": command}))

    def search(*parts: Any) -> RandomSearch:
        return RandomSearch(*parts, starting_s=tuning.takes.starting_s)

    folder = replace(tuning, algorithm=search).perform(given.runs, None)
    return conclude_tune(folder, given.runs, open_it=False, as_json=False)


if __name__ == "__main__":
    raise SystemExit(main())
