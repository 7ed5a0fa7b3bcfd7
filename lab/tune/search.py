"""What a search tries next: from what is measured so far to the next stage, without a server, a folder or a clock.

1. *Alone*: every candidate by itself against the start. One that gains very much (a leap) is the *base* of all that
   follows: something else limits the rate now, and what gave nothing before may give something.
2. *Mixed*: combinations drawn at random, in which each knob has each of its values as often as any other, beside the
   base. Every run tells something of every knob, so that as many runs tell several times as much as of one knob at a
   time; what each value gives is a ridge regression of the logarithms.
3. *Together*: the base with the best value of each knob that gains, up to five of them, all at once; the best of the
   mix; and the base. The better half, and the best without each of its settings, runs once more. So interactions are
   measured, not assumed, and what a setting gives *given the others* is known.
4. *Confirm*: the best of these against the start in blocks that have not chosen it, with the start twice (A/A). Of many
   noisy figures the best is too good by chance (the winner's curse), so only this one is reported as the gain.

Every stage is a suite in randomised blocks, each of which holds the start beside every combination; figures are ratios
within a block. Candidates also leave when their interval shows that they are worse than the start, or beyond a bound.

Sources: Fisher, "The arrangement of field experiments", 1926 (many factors at once instead of one after the other);
Box, Hunter and Hunter, "Statistics for experimenters", 1978 (main effects of fractions of a factorial design). The
third step is a backward elimination.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, log

import numpy as np

from lab.analysis.tune.estimates import A_TIE, LEAST_CONFIRM_BLOCKS, LEAST_GAIN, Estimates, Measured, fitted
from lab.records.tune import Bound, Candidate, Combination, Goal, Stage, StageKind, combination_name

CONFIRM_SHARE, TOGETHER_SHARE = 0.26, 0.28
"""Of the whole time; the rest is for starting, warming, for candidates alone, and mixed."""
ALONE_SHARE = 1 / 3
"""Of that rest, where mixed combinations follow."""
MIXED_SHARE = 0.7
"""Of the time that is left after candidates alone, at least, beside a base: nothing is known of the others there."""
LEAP = log(1.3)
"""A gain, in one block more than noise makes of thirteen candidates without any, that moves what limits the rate."""
FEW = 4
"""Candidates that need not be mixed: those that gain alone run together at once."""
MOST_TOGETHER = 5
MOST_MIXED = 48
DRAWS = 20
"""Draws for each combination of a mix, at most: some come twice, or cannot be set together."""
SPARE = 2
"""Combinations of a mix beyond one for each of its candidates, at least."""
TOGETHER_ROUNDS = 2
RUNS_OF_CONFIRMATION = 3
"""In each block: the start twice, and what was chosen."""
MOST_BLOCKS = 10
"""Of a stage: what is left goes to those that come after it."""


@dataclass(frozen=True)
class Times:
    """What time there is, and what it buys.

    Attributes:
        left_s: Until the whole budget is over.
        budget_s: All of it.
        run_s: Of a run of which nothing more is known, with what comes before it.
        runs_s: The same, of what has run: a combination's name, or the start's → seconds.
    """

    left_s: float
    budget_s: float
    run_s: float
    runs_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def confirm_s(self) -> float:
        """What the fewest blocks of a confirmation take, at most."""
        return LEAST_CONFIRM_BLOCKS * RUNS_OF_CONFIRMATION * self.of(())

    @property
    def search_s(self) -> float:
        """What is left before the confirmation has to begin."""
        least_s = self.confirm_s if self.runs_s else 0.0
        return self.left_s - max(CONFIRM_SHARE * self.budget_s, least_s)

    def of(self, combination: Combination, base: Combination = ()) -> float:
        """How long a run of a combination takes.

        One that has not run yet takes as long as the base that it holds; without the base, as long as runs usually do.
        """
        known = self.runs_s.get(combination_name(combination))
        if known is None and set(base) <= set(combination):
            known = self.runs_s.get(combination_name(base))
        return self.run_s if known is None else known

    def block_s(self, combinations: Sequence[Combination], base: Combination = ()) -> float:
        """How long a block of combinations takes."""
        return block_s([self.of(each, base) for each in combinations], self.of(()))


def block_s(runs_s: Sequence[float], start_s: float) -> float:
    """How long a block takes: every combination once, and the start between every two of them."""
    return sum(runs_s) + ceil(len(runs_s) / 2) * start_s


@dataclass(frozen=True)
class Search:
    """A search: what may be tried, for which goal.

    Attributes:
        candidates: The most promising ones first.
        is_possible: Whether candidates can be set at the same time; each of them can by itself.
        seed: Of what is drawn.
    """

    candidates: Sequence[Candidate]
    goal: Goal
    bounds: Sequence[Bound]
    is_possible: Callable[[Combination], bool] = lambda _: True
    seed: int = 1

    def next_stage(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """The stage that comes after those which have been measured; `None` when there is nothing more to do."""
        if measured and measured[-1].stage.kind == "confirm":
            return None
        if not measured:
            return self.alone(times)
        known = self.known(measured)
        stage = self.mixed(measured, times) or self.together(known, measured, times)
        if stage is not None:
            return stage
        chosen = self.chosen(known, measured)
        if measured[-1].stage.kind == "mixed":
            # The best of many single runs is mostly a lucky one; the fit knows more.
            chosen = next(filter(self.is_possible, self.first_round(known, measured)), chosen)
        return None if chosen is None else _stage(measured, "confirm", (chosen,), None)

    def known(self, measured: Sequence[Measured]) -> Estimates:
        """What is known so far."""
        return Estimates.of(self.goal, self.bounds, measured)

    # --- alone ------------------------------------------------------------------------------------------------------

    def alone(self, times: Times) -> Stage | None:
        """Every candidate by itself; `None` where there is none."""
        singles = tuple((candidate.name,) for candidate in self.candidates)
        if not singles:
            return None
        seconds = times.search_s - TOGETHER_SHARE * times.budget_s
        if len(singles) > FEW:
            seconds *= ALONE_SHARE
        # The first run of each does not count, and is as long as the others.
        room = (seconds - len(singles) * times.run_s) / times.block_s(singles)
        return _stage((), "alone", singles, max(1, round(room)))

    def base(self, measured: Sequence[Measured]) -> Combination:
        """The candidate that gains so much alone that all others run beside it; none where no candidate does."""
        known = self.known(measured[:1])
        best = next(iter(self.gaining(known, measured[0].stage.combinations)), None)
        return best if best is not None and (known.log_gain(best) or 0.0) >= LEAP else ()

    def rivals(self, base: Combination, measured: Sequence[Measured]) -> list[str]:
        """Other values of the base's knob that may be as good: so few runs alone do not tell."""
        known = self.known(measured[:1])
        least = (known.log_gain(base) or 0.0) - LEAP
        knobs = {self.setting(name) for name in base}
        ranked = self.ranked(known, measured[0].stage.combinations)
        return [name for (name,) in ranked if self.setting(name) in knobs and (known.log_gain((name,)) or 0.0) > least]

    # --- mixed ------------------------------------------------------------------------------------------------------

    def mixed(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """Combinations of all that may still gain, beside the base; `None` where they are few, or there is no time."""
        if len(measured) > 1:
            return None
        base = self.base(measured)
        seconds = max(times.search_s - TOGETHER_SHARE * times.budget_s, MIXED_SHARE * times.search_s if base else 0.0)
        sizes = range(MOST_MIXED, 0, -1)
        number = next((n for n in sizes if times.block_s([base] * n) <= seconds), 0)
        others = self.beside(base, measured)[: max(0, number - SPARE)]
        if len(others) <= FEW and not base:
            return None
        combinations = self.drawn(base, others, number)
        return _stage(measured, "mixed", combinations, 1) if len(combinations) > SPARE else None

    def beside(self, base: Combination, measured: Sequence[Measured]) -> list[Candidate]:
        """Candidates that may run beside the base, the best alone first, without those that are clearly worse alone."""
        known = self.known(measured)
        taken = {self.setting(name) for name in base}
        ranked = self.ranked(known, [each for each in measured[0].stage.combinations if not known.is_worse(each)])
        by_name = {candidate.name: candidate for candidate in self.candidates}
        others = [by_name[name] for (name,) in ranked if self.setting(name) not in taken]
        return [each for each in others if self.is_possible(self.in_order((*base, each.name)))]

    def drawn(self, base: Combination, others: Iterable[Candidate], number: int) -> tuple[Combination, ...]:
        """So many different combinations, or all where there are fewer; each value of a knob as often as any."""
        values: dict[str, list[tuple[str, ...]]] = {}
        for each in others:
            values.setdefault(each.setting, [()]).append((each.name,))
        made = dict.fromkeys(islice(self._draws(base, list(values.values()), number), DRAWS * number))
        return tuple(islice((each for each in made if each and self.is_possible(each)), number))

    def _draws(
        self, base: Combination, values: Sequence[Sequence[tuple[str, ...]]], number: int
    ) -> Iterator[Combination]:
        draw = np.random.default_rng(self.seed)
        while values and number:
            # In each round of so many combinations, every value of a knob is there as often as any other.
            columns = [draw.permutation(np.resize(draw.permutation(len(each)), number)) for each in values]
            for row in zip(*columns, strict=True):
                names = (name for place, each in zip(row, values, strict=True) for name in each[place])
                yield self.in_order((*base, *names))

    def gains(self, measured: Sequence[Measured]) -> dict[str, float]:
        """What each candidate gives beside the base, as a logarithm, the most first: fitted to a mix, or else alone."""
        base = self.base(measured)
        mix = next((each for each in measured if each.stage.kind == "mixed"), None)
        if mix is None:
            known = self.known(measured[:1])
            alone = {name: known.log_gain((name,)) for (name,) in measured[0].stage.combinations if name not in base}
            found = {name: gain for name, gain in alone.items() if gain is not None}
        else:
            found = {each.name: each.gain for each in fitted(self.known([mix]), mix.stage.combinations)}
        return dict(sorted(found.items(), key=lambda entry: entry[1], reverse=True))

    # --- estimates --------------------------------------------------------------------------------------------------

    def setting(self, name: str) -> str:
        """The knob of a candidate."""
        return next(candidate.setting for candidate in self.candidates if candidate.name == name)

    def better_half(self, known: Estimates, combinations: Sequence[Combination]) -> tuple[Combination, ...]:
        """The better half of combinations by their estimates, in the order of the plan, without clear losers."""
        ranked = self.ranked(known, [each for each in combinations if not known.is_worse(each)])
        kept = set(ranked[: max(2, ceil(len(combinations) / 2))])
        return tuple(each for each in combinations if each in kept)

    def ranked(self, known: Estimates, combinations: Iterable[Combination]) -> list[Combination]:
        """Those that have run and break no bound, the best first."""
        gains = {each: gain for each in combinations if (gain := known.log_gain(each)) is not None}
        return sorted((each for each in gains if known.broken(each) is None), key=gains.__getitem__, reverse=True)

    def gaining(self, known: Estimates, combinations: Iterable[Combination]) -> list[Combination]:
        """Those that seem better than the start by more than nothing, the best first."""
        return [each for each in self.ranked(known, combinations) if (known.log_gain(each) or 0.0) > LEAST_GAIN]

    # --- together ---------------------------------------------------------------------------------------------------

    def together(self, known: Estimates, measured: Sequence[Measured], times: Times) -> Stage | None:
        """The next round of combinations; `None` when there is nothing to combine, or no time."""
        rounds = [each for each in measured if each.stage.kind == "together"]
        if len(rounds) == TOGETHER_ROUNDS:
            return None
        tried = self.second_round(known, measured, rounds[-1].stage) if rounds else self.first_round(known, measured)
        wanted = tuple(filter(self.is_possible, tried))
        if len(wanted) < 2:
            return None
        seconds = times.search_s / (TOGETHER_ROUNDS - len(rounds))
        blocks = int(max(0.0, seconds) / times.block_s(wanted, self.base(measured)))
        return _stage(measured, "together", wanted, blocks) if blocks else None

    def first_round(self, known: Estimates, measured: Sequence[Measured]) -> tuple[Combination, ...]:
        """Base and survivors at once, the best of the mix, and the best by itself, which all have to beat.

        Without a mix, all but each of the survivors, and swaps: the other value of a knob, where that gains, too.
        """
        base = self.base(measured)
        gaining = [name for name, gain in self.gains(measured).items() if gain > LEAST_GAIN]
        gaining = [name for name in gaining if known.broken((name,)) is None]
        of_knob = {self.setting(name): name for name in base}
        for name in gaining:
            of_knob.setdefault(self.setting(name), name)
        survivors = [name for name in of_knob.values() if name not in base][:MOST_TOGETHER]
        if not survivors:
            return ()
        everything = self.in_order((*base, *survivors))
        if mix := next((each for each in measured if each.stage.kind == "mixed"), None):
            others = self.gaining(self.known([mix]), mix.stage.combinations)[:1]
            others += self.swaps(everything, self.rivals(base, measured))
        else:
            others = list(all_but_one(everything))
            others += self.swaps(everything, dict.fromkeys((*gaining, *self.rivals(base, measured))))
        best = self.in_order((*base, survivors[0]))
        return tuple(dict.fromkeys(each for each in (everything, *others, best, base) if each))

    def swaps(self, combination: Combination, others: Iterable[str]) -> Iterator[Combination]:
        """The combination with another value of one of its knobs, for each candidate of others that is one."""
        by_knob = {self.setting(name): name for name in combination}
        for name in others:
            if name not in combination and self.setting(name) in by_knob:
                yield self.in_order({*combination, name} - {by_knob[self.setting(name)]})

    def second_round(self, known: Estimates, measured: Sequence[Measured], last: Stage) -> tuple[Combination, ...]:
        """The better half of the first round, and what has not run yet around the best of it."""
        best = self.chosen(known, measured)
        around = all_but_one(best) if best and len(best) > 1 else ()
        new = (each for each in around if known.log_gain(each) is None)
        return tuple(dict.fromkeys((*self.better_half(known, last.combinations), *new)))

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


def all_but_one(combination: Combination) -> tuple[Combination, ...]:
    """The combination without each of its candidates."""
    return tuple(tuple(other for other in combination if other != name) for name in combination)


def _stage(
    measured: Sequence[Measured], kind: StageKind, combinations: tuple[Combination, ...], blocks: int | None
) -> Stage:
    most = None if blocks is None else min(MOST_BLOCKS, blocks)
    return Stage(number=len(measured) + 1, kind=kind, combinations=combinations, blocks=most)
