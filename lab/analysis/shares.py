"""The delivery records of several drivers, put together: whether they are one load, whole, and sent when it was due."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lab.analysis.figures.limits import LATE
from lab.analysis.folder import content_of, parsed
from lab.errors import ProfileError, VerificationError
from lab.records.shares import PLAN, DeliveryRecord
from producers.delivery import Delivered, in_words, total_in_parallel

MOST_APART = 0.05
"""By so much the rate of all may be told too high."""
A_RECORD = "a file that `sluice produce --record` has written"


def read_delivery(path: Path) -> DeliveryRecord:
    """The delivery record of a file; raises ProfileError if it cannot be read, or is no such record."""
    return parsed(DeliveryRecord, content_of(path, A_RECORD), str(path))


def gathered(records: Mapping[str, DeliveryRecord], planned: Mapping[str, object] | None = None) -> Delivered:
    """Delivery of all drivers in sum.

    Args:
        records: By the names of their files, at least one.
        planned: What each must say of the load, by the names of `PLAN`; by default what the first one says.

    Raises:
        ProfileError: They are not the shares of one load, or a share is missing or there twice.
        VerificationError: A driver could not keep the schedule, their clocks were too far apart, or documents were not
            delivered: there are no figures.
    """
    refuse_other_loads(records, planned)
    if problems := list(uncounted(records)):
        raise ProfileError("; ".join(problems))
    ordered = sorted(records.values(), key=lambda record: record.share)
    if problems := [problem for record in ordered for problem in broken(record)]:
        raise VerificationError("; ".join(problems))
    delivered = total_in_parallel([record.delivered for record in ordered])
    if problem := apart(ordered, delivered.last_acknowledged_s - delivered.first_intended_s):
        raise VerificationError(problem)
    if delivered.produced != ordered[0].documents:
        raise VerificationError(
            f"all shares: got {delivered.produced:,} documents, expected {ordered[0].documents:,}: one is cut short"
        )
    return delivered


def refuse_other_loads(records: Mapping[str, DeliveryRecord], planned: Mapping[str, object] | None) -> None:
    """Refuse records that are not of one load.

    Raises:
        ProfileError: They differ in something that all shares have in common; without a plan the first counts as right.
    """
    first_file, first = next(iter(records.items()))
    expected, of = (planned, "this run") if planned else ({name: getattr(first, name) for name in PLAN}, first_file)
    problems = [
        f"{file}: {name}: got {getattr(record, name)}, expected {expected[name]} as in {of}"
        for file, record in records.items()
        for name in PLAN
        if getattr(record, name) != expected[name]
    ]
    if problems:
        raise ProfileError(f"{'; '.join(problems)}; shares of one load have it in common")


def uncounted(records: Mapping[str, DeliveryRecord]) -> Iterator[str]:
    """Each share that is missing, or there more than once."""
    by_share = defaultdict(list)
    for file, record in records.items():
        by_share[record.share].append(file)
    of = next(iter(records.values())).of
    for share in range(1, of + 1):
        names = by_share.get(share, [])
        if not names:
            yield f"share {share}/{of}: got no delivery record, expected one"
        elif len(names) > 1:
            yield f"share {share}/{of}: got {len(names)} delivery records ({', '.join(names)}), expected one"


def apart(records: Sequence[DeliveryRecord], load_s: float) -> str | None:
    """Why shares were not sent side by side: clocks that certainly differ by more than a small part of the load's time.

    Each driver keeps the schedule by its own clock, so that all together needed so much longer than any of them says.
    """
    known = [(record, record.clock) for record in records if record.clock is not None]
    if not known:
        return None
    first, ahead = max(known, key=lambda each: each[1].ahead_ms - each[1].bound_ms)
    last, behind = min(known, key=lambda each: each[1].ahead_ms + each[1].bound_ms)
    least_s = (ahead.ahead_ms - ahead.bound_ms - behind.ahead_ms - behind.bound_ms) / 1000
    if least_s <= MOST_APART * load_s:
        return None
    return (
        f"{first.name} and {last.name}: their clocks are at least {least_s:.1f} s apart, expected at most"
        f" {MOST_APART:.0%} of the load's {load_s:.0f} s: they did not send at the same time; synchronize the clocks"
    )


def broken(record: DeliveryRecord) -> Iterator[str]:
    """Why no figure of a load holds to which this share belongs."""
    delivered = record.delivered
    if delivered.failed:
        yield (
            f"{record.name}: {delivered.failed:,} of {delivered.produced:,} documents were not delivered: "
            f"{in_words(delivered.failures)}"
        )
    if delivered.late_documents > LATE * delivered.produced:
        share = delivered.late_documents / delivered.produced
        yield (
            f"{record.name}: {delivered.late_documents:,} of {delivered.produced:,} documents ({share:.1%}) were sent "
            f"more than 100 ms after they were due, expected at most {LATE:.0%}: the driver could not keep the "
            "schedule; lower the rate, or use more drivers"
        )
