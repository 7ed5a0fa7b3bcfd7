"""The words of a suite's report, for a reader who knows some of them otherwise."""

from lab.analysis.figures.definitions import TERMS
from lab.analysis.suite.comparisons import MAY_BE_CHANCE

SUITE_TERMS = {
    "variant": "A profile with some values set otherwise: one cell of the suite.",
    "control": "The variant that stands for `nothing changed`.",
    "A/A": "The control compared with its own repetition. A difference there is one of the method, not of a setting.",
    "block": "A round in which every variant runs once, in an order drawn by lot.",
    "ratio": "A variant's value divided by that of what it is compared with, in the same block; over all blocks their"
    " geometric mean. Where the control ran twice in a block, it is the geometric mean of both runs.",
    "95 % interval": "95 of 100 intervals made like this hold the true ratio. One that holds 1 shows no difference.",
    "verdict": "Of twenty comparisons one would show a difference by chance. So a verdict takes into account how many"
    " the suite makes of a metric: where an interval leaves out 1 and the verdict is still none, it"
    f" {MAY_BE_CHANCE}.",
    "no difference detectable": "The blocks scatter more than the variants differ. It does not say that there is no"
    " difference: see the smallest detectable one.",
    "smallest detectable": "The smallest difference that so many repeats would have shown four times of five.",
    "repeats for 5 %": "Repeats that would show a difference of 5 % four times of five.",
    **{term: TERMS[term] for term in ("document", "entity", "primary shard", "measured window", "verified")},
}
