"""The words of a suite's report, for a reader who knows some of them otherwise."""

from lab.analysis.figures.definitions import TERMS

SUITE_TERMS = {
    "variant": "A profile with some values set otherwise: one cell of the suite.",
    "control": "The variant that stands for `nothing changed`.",
    "A/A": "The control compared with its own repetition. A difference there is one of the method, not of a setting.",
    "block": "A round in which every variant runs once, in an order drawn by lot. All blocks share one start of the"
    " servers; how much another start would differ is in no interval.",
    "ratio": "A variant's value divided by that of what it is compared with, in the same block; over all blocks their"
    " geometric mean. Where the control ran twice in a block, it is the geometric mean of both runs.",
    "verdict": "What the interval says. `faster`, `slower`, `higher` or `lower`: it leaves out no change."
    " `same within 5 %`: it holds no change and lies between 1/1.05 and 1.05. `undecided`: neither.",
    "interval": "Where the true ratio lies, as a change in percent. At 95 % for one comparison alone (A/A); wider where"
    " a suite makes several of a metric, as Holm's procedure asks. Metrics are not corrected for each other.",
    "smallest detectable": "The smallest difference that so many repeats show four times of five, Holm included; in"
    " brackets where it may lie, since a few blocks tell their own spread badly.",
    **{term: TERMS[term] for term in ("document", "entity", "primary shard", "measured window", "verified")},
}
