"""What a search tries next: from what is measured so far to the next stage, without a server, a folder or a clock.

1. *Alone*: every candidate by itself against the start. After each round the better half goes on, and each round gets
   the same time, so that those that stay are measured ever more often (sequential halving).
2. *Together*: the best value of each knob that still gains, up to four of them, all at once, and all but one of them,
   for every one; and with another value of a knob, where that gains, too. So interactions are measured, not assumed,
   and what a setting gives *given the others* is known. The better half, and what is new around the best of them, runs
   once more.
3. *Confirm*: the best of these against the start in blocks that have not chosen it, with the start twice (A/A). Of many
   noisy figures the best is too good by chance (the winner's curse), so only this one is reported as the gain.

Every stage is a suite in randomised blocks, each of which holds the start beside every combination; figures are ratios
within a block. Candidates also leave when their interval shows that they are worse than the start, or beyond a bound.

Source: Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", 2013 (sequential halving:
⌈log₂ n⌉ rounds of equal budget; here until as few are left as can be tried together); Jamieson and Talwalkar,
"Non-stochastic best arm identification and hyperparameter optimization", 2016 (the same for settings). Neither combines
arms: the second step is a backward elimination, of k + 2 combinations instead of the k(k + 1)/2 of a forward selection.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log2

from lab.analysis.tune.estimates import A_TIE, LEAST_GAIN, Estimates, Measured
from lab.records.tune import Bound, Candidate, Combination, Goal, Stage, StageKind

CONFIRM_SHARE, TOGETHER_SHARE = 0.26, 0.28
"""Of the whole time; the rest is for starting, warming and for candidates alone."""
MOST_TOGETHER = 4
TOGETHER_ROUNDS = 2
MOST_BLOCKS = 10
"""Of a stage: what is left goes to those that come after it."""


@dataclass(frozen=True)
class Times:
    """What time there is, and what it buys.

    Attributes:
        left_s: Until the whole budget is over.
        budget_s: All of it.
        run_s: Of a run that counts, with what comes before it.
        first_s: Of the first run of a candidate, which does not count.
    """

    left_s: float
    budget_s: float
    run_s: float
    first_s: float

    @property
    def search_s(self) -> float:
        """What is left before the confirmation has to begin."""
        return self.left_s - CONFIRM_SHARE * self.budget_s

    def blocks(self, seconds: float, combinations: int, new: int = 0) -> float:
        """How many blocks of so many combinations a time has room for.

        Args:
            new: How many of them run for the first time.
        """
        return max(0.0, (seconds - new * self.first_s) / block_s(combinations, self.run_s))


def block_s(combinations: int, run_s: float) -> float:
    """How long a block takes: every combination once, and the start between every two of them."""
    return run_s * (combinations + ceil(combinations / 2))


@dataclass(frozen=True)
class Search:
    """A search: what may be tried, for which goal.

    Attributes:
        candidates: The most promising ones first.
        is_possible: Whether candidates can be set at the same time; each of them can by itself.
    """

    candidates: Sequence[Candidate]
    goal: Goal
    bounds: Sequence[Bound]
    is_possible: Callable[[Combination], bool] = lambda _: True

    def next_stage(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """The stage that comes after those which have been measured; `None` when there is nothing more to do."""
        if measured and measured[-1].stage.kind == "confirm":
            return None
        known, number = self.known(measured), len(measured) + 1
        if wanted := self.alone(known, measured, times):
            return _stage(number, "alone", *wanted)
        if wanted := self.together(known, measured, times):
            return _stage(number, "together", *wanted)
        chosen = self.chosen(known, measured)
        return None if chosen is None else _stage(number, "confirm", (chosen,), None)

    def known(self, measured: Sequence[Measured]) -> Estimates:
        """What is known so far."""
        return Estimates.of(self.goal, self.bounds, measured)

    # --- alone ------------------------------------------------------------------------------------------------------

    def alone(
        self, known: Estimates, measured: Sequence[Measured], times: Times
    ) -> tuple[tuple[Combination, ...], int] | None:
        """The next round of candidates by themselves, and its blocks; `None` when there is no further one."""
        rounds = _rounds(measured, "alone")
        to_come = rounds_of(len(self.candidates)) - len(rounds)
        if to_come <= 0 or _rounds(measured, "together"):
            return None
        alive = self.better_half(known, rounds[-1].combinations) if rounds else self.singles
        seconds = (times.search_s - TOGETHER_SHARE * times.budget_s) / to_come
        room = times.blocks(seconds, len(alive) or 1, new=0 if rounds else len(alive))
        # Half a block too late is no worse than half a block too early where another round makes up for it.
        blocks = round(room) if to_come > 1 else int(room)
        if not alive or (rounds and not blocks):
            return None
        return alive, max(1, blocks)

    @property
    def singles(self) -> tuple[Combination, ...]:
        """Every candidate by itself."""
        return tuple((candidate.name,) for candidate in self.candidates)

    def better_half(
        self, known: Estimates, combinations: Sequence[Combination], least: int = MOST_TOGETHER
    ) -> tuple[Combination, ...]:
        """The better half of combinations by their estimates, in the order of the plan, without clear losers.

        Args:
            least: So many stay at least.
        """
        ranked = self.ranked(known, [each for each in combinations if not known.is_worse(each)])
        kept = set(ranked[: max(least, ceil(len(combinations) / 2))])
        return tuple(each for each in combinations if each in kept)

    def ranked(self, known: Estimates, combinations: Iterable[Combination]) -> list[Combination]:
        """Those that have run and break no bound, the best first."""
        gains = {each: gain for each in combinations if (gain := known.log_gain(each)) is not None}
        return sorted((each for each in gains if known.broken(each) is None), key=gains.__getitem__, reverse=True)

    def survivors(self, known: Estimates, measured: Sequence[Measured]) -> tuple[Combination, ...]:
        """The best candidate of each knob that gains something alone, the best first, as many as run together."""
        settings = {candidate.name: candidate.setting for candidate in self.candidates}
        of_knob: dict[str, Combination] = {}
        for each in self.gaining(known, _rounds(measured, "alone")[-1].combinations):
            of_knob.setdefault(settings[each[0]], each)
        return tuple(of_knob.values())[:MOST_TOGETHER]

    def gaining(self, known: Estimates, combinations: Iterable[Combination]) -> list[Combination]:
        """Those that seem better than the start by more than nothing, the best first."""
        return [each for each in self.ranked(known, combinations) if (known.log_gain(each) or 0.0) > LEAST_GAIN]

    # --- together ---------------------------------------------------------------------------------------------------

    def together(
        self, known: Estimates, measured: Sequence[Measured], times: Times
    ) -> tuple[tuple[Combination, ...], int] | None:
        """The next round of combinations, and its blocks; `None` when there is nothing to combine, or no time."""
        rounds = _rounds(measured, "together")
        if len(rounds) == TOGETHER_ROUNDS:
            return None
        tried = self.second_round(known, measured, rounds[-1]) if rounds else self.first_round(known, measured)
        wanted = tuple(filter(self.is_possible, tried))
        if len(wanted) < 2:
            return None
        blocks = int(times.blocks(times.search_s / (TOGETHER_ROUNDS - len(rounds)), len(wanted)))
        return (wanted, blocks) if blocks else None

    def first_round(self, known: Estimates, measured: Sequence[Measured]) -> tuple[Combination, ...]:
        """All survivors at once, all but each of them, the best alone, which all of them have to beat, and swaps.

        A swap has the other value of a knob, where that gains, too: which of two is better is hardly told alone.
        """
        survivors = self.survivors(known, measured)
        if len(survivors) < 2:
            return ()
        everything = self.in_order(name for each in survivors for name in each)
        swaps = self.swaps(everything, self.gaining(known, _rounds(measured, "alone")[-1].combinations))
        return tuple(dict.fromkeys((everything, *all_but_one(everything), *swaps, survivors[0])))

    def swaps(self, combination: Combination, others: Iterable[Combination]) -> Iterator[Combination]:
        """The combination with another value of one of its knobs, for each candidate of others that is one."""
        settings = {candidate.name: candidate.setting for candidate in self.candidates}
        by_knob = {settings[name]: name for name in combination}
        for (name,) in others:
            if name not in combination and settings[name] in by_knob:
                yield self.in_order({*combination, name} - {by_knob[settings[name]]})

    def second_round(self, known: Estimates, measured: Sequence[Measured], last: Stage) -> tuple[Combination, ...]:
        """The better half of the first round, and what has not run yet around the best of it."""
        best = self.chosen(known, measured)
        around = all_but_one(best) if best and len(best) > 1 else ()
        new = (each for each in around if known.log_gain(each) is None)
        return tuple(dict.fromkeys((*self.better_half(known, last.combinations, least=2), *new)))

    def in_order(self, names: Iterable[str]) -> Combination:
        """Candidates as a combination, in the order of the plan."""
        chosen = set(names)
        return tuple(candidate.name for candidate in self.candidates if candidate.name in chosen)

    # --- the choice -------------------------------------------------------------------------------------------------

    def chosen(self, known: Estimates, measured: Sequence[Measured]) -> Combination | None:
        """The best combination of the last stage before the confirmation; `None` where none seems better.

        Of those that are as good but for a hundredth, the one that changes least: nobody is to set what gives nothing.
        """
        stages = [each.stage for each in measured if each.stage.kind != "confirm"]
        gaining = self.gaining(known, stages[-1].combinations) if stages else []
        if not gaining:
            return None
        gains = {each: known.log_gain(each) or 0.0 for each in gaining}
        alike = [each for each in gaining if gains[each] >= gains[gaining[0]] - A_TIE]
        return min(alike, key=lambda each: (len(each), -gains[each]))


def rounds_of(candidates: int) -> int:
    """How often candidates are halved until as few are left as run together; each round but the last halves them."""
    return max(1, ceil(log2(candidates / MOST_TOGETHER))) if candidates else 0


def all_but_one(combination: Combination) -> tuple[Combination, ...]:
    """The combination without each of its candidates."""
    return tuple(tuple(other for other in combination if other != name) for name in combination)


def _rounds(measured: Sequence[Measured], kind: StageKind) -> list[Stage]:
    return [each.stage for each in measured if each.stage.kind == kind]


def _stage(number: int, kind: StageKind, combinations: tuple[Combination, ...], blocks: int | None) -> Stage:
    most = None if blocks is None else min(MOST_BLOCKS, blocks)
    return Stage(number=number, kind=kind, combinations=combinations, blocks=most)
