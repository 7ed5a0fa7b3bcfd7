"""What limited the runs of each variant."""

from collections import Counter

from lab.analysis.suite.folder import CountedRun, SuiteFolder
from lab.records import WarningKind
from lab.records.suite import VariantLimit

NOT_KNOWN = "not known"


def variant_limits(folder: SuiteFolder) -> tuple[VariantLimit, ...]:
    """The stage that had no slack and in how many runs, for every variant with a run that counts."""
    names = [variant.name for variant in folder.plan.variants if folder.of_variant(variant.name)]
    return tuple(_limit(name, folder.of_variant(name)) for name in names)


def _limit(variant: str, runs: list[CountedRun]) -> VariantLimit:
    found = [counted.result.limited_by for counted in runs]
    stages = Counter(limit.stage if limit else NOT_KNOWN for limit in found)
    most = stages.most_common(1)[0][0]
    evidence = next((limit for limit in reversed(found) if limit and limit.stage == most), None)
    return VariantLimit(variant=variant, limits=dict(stages.most_common()), evidence=evidence)


def is_driver_limited(counted: CountedRun) -> bool:
    """Whether a run measured what drives the load and not Elasticsearch, by its own warnings."""
    return any(warning.kind == WarningKind.DRIVER_LIMITED for warning in counted.result.warnings)
