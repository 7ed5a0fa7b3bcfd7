"""Two days of documents: a mapping is proposed from the first, the second is indexed and compared with the truth.

By hand, `python -m tests.mapping_pairs URL 10000 SEED` counts rejections and changed aggregations of so many, packed
as fields of the same documents. It uses nothing of the lab that older versions lack, so it judges those, too.
"""

import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError
from lab.mapping import proposal as proposals
from lab.mapping.check import index_for_check, types_of
from lab.mapping.proposal import Proposal, propose
from lab.mapping.sample import Sample, read_sample
from lab.mapping.types import Choice, Wishes
from tests.mapping_kinds import ABSENT, Value, json_of, scalars
from tests.mapping_sources import Source, sources

DOCUMENTS = 300
"""Of a day."""
PACKED = 200
"""Pairs whose fields stand in the same documents: an index takes 1,000 fields."""
AGGREGATED = 40
"""Fields of one search request, whose buckets are limited."""
NUMERIC = frozenset({"byte", "short", "integer", "long", "float", "double", "scaled_float"})
FIELD, PLACE = re.compile(r"\b(\d+)_"), re.compile(r"(?:failed to parse: \[1:|line: 1, column: )(\d+)")
LONGEST_TERM = 8191
LONG, WHOLE = 2**63, re.compile("whole number|64-bit integer")
OBJECTS_TOLD = any("object" in line and "reject" in line for line in getattr(proposals, "LATER", {}).values())
"""Whether a proposal says that a later object in a field of values rejects its document."""
SAME, TOLD, CHANGED, REJECTED, LOST = "same", "told", "changed", "rejected", "not of its type"
VERDICTS = {
    SAME: "aggregations equal the truth",
    TOLD: "they differ as the field's line says",
    CHANGED: "they differ, and nothing says so",
    REJECTED: "documents rejected, and nothing says so",
    LOST: "numbers, times, addresses, places or objects that are words, or not indexed",
}


@dataclass(frozen=True)
class Declared:
    """Proposal for a source.

    Attributes:
        name: Of its field in the documents.
        why: The field's line.
    """

    source: Source
    name: str
    declaration: Mapping[str, Any]
    why: str

    @property
    def type(self) -> str:
        """Elasticsearch's type; `unindexed` where nothing is indexed."""
        if self.declaration.get("enabled") is False:
            return "unindexed"
        return str(self.declaration.get("type", "object"))


@dataclass
class Pair:
    """Outcome of a pair of days.

    Attributes:
        rejected: Documents of the second day that were rejected for its field.
    """

    declared: Declared
    rejected: int = 0
    verdict: str = SAME
    difference: str = ""


@dataclass
class SecondDay:
    """Documents of the second day, by field.

    Attributes:
        values: Field → its values, without those whose documents were rejected for them.
        rejected: Field → those values.
    """

    values: dict[str, list[Value]] = field(default_factory=dict)
    rejected: defaultdict[str, list[Value]] = field(default_factory=lambda: defaultdict(list))

    def document(self, number: int) -> bytes:
        """A document, without absent fields; each second one has objects in place of names with dots."""
        there = {name: of[number].json for name, of in self.values.items() if of[number].json is not None}
        return json_of({key: value for name, of in there.items() for key, value in [nested(name, of, number % 2)]})


def nested(name: str, of: Any, levels: int) -> tuple[str, Any]:
    """A name and a value, with so many parts of the name as objects around the value."""
    first, dot, rest = name.partition(".")
    return (first, dict([nested(rest, of, levels)])) if dot and levels else (name, of)


def judge_pairs(
    cluster: ElasticsearchClient, packed: Sequence[Source], folder: Path, most: int = DOCUMENTS
) -> list[Pair]:
    """Propose from the first day or a sample of it, index the second one, and compare.

    Args:
        most: Documents of the first day that the sample has.
    """
    named = {f"{number}_{source.name}": source for number, source in enumerate(packed)}
    path = folder / "day1.ndjson"
    first = SecondDay({name: source.values(1, DOCUMENTS) for name, source in named.items()})
    path.write_bytes(b"".join(first.document(n) + b"\n" for n in range(DOCUMENTS)))
    proposal = proposed(read_sample(str(path), most), types_of(cluster))
    lines = {of.name: of.choice for of in proposal.fields}
    absent = Choice({"enabled": False}, "")
    declared = [
        Declared(source, name, lines.get(name, absent).declaration, lines.get(name, absent).why)
        for name, source in named.items()
    ]
    day = SecondDay({name: source.values(2, DOCUMENTS) for name, source in named.items()})
    pairs = []
    with index_for_check(cluster, proposal.content) as index:
        index_day(cluster, index, day)
        for start in range(0, len(declared), AGGREGATED):
            some = declared[start : start + AGGREGATED]
            answers = aggregated(cluster, index, some)
            pairs += [judged(each, day, answers.get(each.name, {})) for each in some]
    return pairs


def proposed(sample: Sample, has_type: Callable[[str], bool]) -> Proposal:
    """Proposal as a user gets it who tolerates more where more is asked for."""
    try:
        return propose(sample, has_type=has_type)
    except ProfileError:
        return propose(sample, Wishes(tolerated=0.03), has_type)


def index_day(cluster: ElasticsearchClient, index: str, day: SecondDay) -> None:
    """Index all documents; of one that is rejected, take away the value that was, and index it again."""
    waiting = list(range(DOCUMENTS))
    while waiting:
        body = b"".join(b'{"index":{"_id":"%d"}}\n%s\n' % (number, day.document(number)) for number in waiting)
        _, answer = cluster.request("POST", f"/{index}/_bulk?filter_path=errors,items.*.status,items.*.error", body)
        again = []
        for number, item in zip(waiting, answer.get("items", []), strict=False):  # None without errors.
            if error := item.get("index", {}).get("error"):
                name = culprit(error, day, number)
                day.rejected[name].append(day.values[name][number])
                day.values[name][number] = ABSENT
                again.append(number)
        waiting = again
    cluster.refresh(index)


def culprit(error: Mapping[str, Any], day: SecondDay, number: int) -> str:
    """Field of a document for which it was rejected: the one that is named, or the last one before the place."""
    reason, document = str(error), day.document(number)
    place = PLACE.search(reason)
    for match in [*FIELD.finditer(reason.partition("at [Source")[0]), *reversed(list(before(document, place)))]:
        for name, values in day.values.items():
            if name.startswith(f"{match[1]}_") and values[number].json is not None:
                return name
    raise AssertionError(reason)


def before(document: bytes, place: re.Match[str] | None) -> Iterable[re.Match[str]]:
    """Fields in a document before a place; all where there is none."""
    return FIELD.finditer(document[: int(place[1]) if place else len(document)].decode(errors="replace"))


def aggregated(cluster: ElasticsearchClient, index: str, some: Iterable[Declared]) -> dict[str, Any]:
    """Answer of the aggregations that suit each field's type."""
    aggregations: dict[str, Any] = {}
    for each in some:
        name, kind = each.name, each.type
        if kind in NUMERIC or kind == "date":
            aggregations[name] = {"stats": {"field": name}}
        elif kind in ("keyword", "ip", "boolean"):
            aggregations[name] = {"terms": {"field": name, "size": 2 * DOCUMENTS}}
        elif kind == "nested":
            aggregations[name] = {"nested": {"path": name}, "aggs": {"n": {"stats": {"field": f"{name}.n"}}}}
        elif kind == "geo_point":
            aggregations[name] = {"value_count": {"field": name}}
        elif kind == "object":
            inner = "lat" if each.source.sort == "place" else "n"
            aggregations[name] = {"stats": {"field": f"{name}.{inner}"}}
        elif kind == "text":
            aggregations[name] = {"filter": {"exists": {"field": name}}}
    _, answer = cluster.request("POST", f"/{index}/_search", {"size": 0, "aggs": aggregations})
    return dict(answer["aggregations"])


# --- truth ----------------------------------------------------------------------------------------------------------


def judged(declared: Declared, day: SecondDay, answer: Mapping[str, Any]) -> Pair:
    """Outcome of a field."""
    values = [value for value in day.values[declared.name] if value.json is not None]
    rejected = day.rejected[declared.name]
    verdict, difference = compared(declared, values, answer)
    if rejected and verdict in (SAME, TOLD):
        untold = next((value for value in rejected if not is_told(declared, value)), None)
        verdict, difference = (TOLD, difference) if untold is None else (REJECTED, str(untold))
    return Pair(declared, len(rejected), verdict, difference)


def is_told(declared: Declared, rejected: Value) -> bool:
    """Check that a line says of a value that its document is rejected."""
    of = rejected.json
    while isinstance(of, list) and len(of) == 1 and declared.type != "geo_point":
        of = of[0]
    if isinstance(of, dict):
        return OBJECTS_TOLD
    return ("array of one number" if declared.type == "geo_point" else "reject") in declared.why


def compared(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on the aggregations of a field, and the difference."""
    sort, kind = declared.source.sort, declared.type
    for kinds, sorts, compare in COMPARISONS:
        if kind in kinds and sort in sorts:
            return compare(declared, values, answer)
    if kind == "keyword" and ("identifier" in declared.why or "takes all" in declared.why):
        verdict, difference = compared_words(declared, values, answer)
        return (TOLD if verdict == SAME else verdict), difference
    return (TOLD, "") if sort == "anything" else (LOST, f"{sort} as {kind}")


def verdict_of(is_equal: bool, verdict: str, difference: str) -> tuple[str, str]:  # noqa: FBT001 - a comparison
    """Verdict on aggregations that are as they must be, or not."""
    return (verdict, "") if is_equal else (CHANGED, difference)


def compared_texts(_: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on the number of texts; whether one without a word is there differs between versions."""
    texts = ["".join(value.texts) for value in values if value.texts]
    least = sum(any(map(str.isalnum, text)) for text in texts)
    return verdict_of(least <= answer["doc_count"] <= len(texts), SAME, f"{answer['doc_count']} texts")


def compared_words(_: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on words; longer ones than a term may be stored only, which the proposal says of all keywords."""
    texts = [text for value in values for text in set(value.texts)]
    indexed = Counter(text for text in texts if len(text.encode("utf-16-le")) <= 2 * LONGEST_TERM)
    other = (terms(answer) - indexed) + (indexed - terms(answer))
    return verdict_of(not other, SAME if indexed.total() == len(texts) else TOLD, f"other terms: {list(other)[:3]}")


def compared_numbers(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on values that are numbers in JSON; for words, their text counts: 1.10 is not 1.1."""
    texts = [text for value in values for of in scalars(value.json) if not isinstance(of, str | bool)
             for text in Value(of).texts]  # fmt: skip
    if declared.source.sort == "word" and (other := [text for text in texts if number_text(text) != text]):
        return CHANGED, f"{other[0]} as a number"
    numbers = [float(text) for text in texts if isfinite(float(text))]
    verdict, difference = verdict_on_numbers(declared, numbers, answer)
    rounded = [text for text in texts if text.strip("-").isdecimal() and int(float(text)) != int(text)]
    if declared.type != "double" or not rounded or verdict == CHANGED:
        return verdict, difference
    return (TOLD, "rounded") if "rounded" in declared.why else (CHANGED, f"{rounded[0]} is rounded")


def number_text(text: str) -> str:
    """A number as a program writes it."""
    return text if text.strip("-").isdecimal() else repr(float(text))


def compared_objects(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on a number of each object: the latitude of a place."""
    meant = [value.means for value in values if value.means is not None]
    numbers = [float(each) for of in meant for each in (of[:1] if declared.source.sort == "place" else of)]
    return verdict_on_numbers(declared, numbers, answer.get("n", answer))


def verdict_on_numbers(declared: Declared, numbers: Sequence[float], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on numbers; the line may say that only whole ones, or those of 64 bits, or seven digits are indexed."""
    if is_stats_of(answer, numbers):
        return SAME, ""
    why = declared.why
    told = [
        number
        for number in numbers
        if (not WHOLE.search(why) or number == int(number)) and ("64-bit" not in why or abs(number) < LONG)
    ]
    if is_stats_of(answer, told, 1e-6 if "7 digits" in why else 1e-12):
        return TOLD, "some are not indexed"
    truth = f"sum {sum(numbers):.12g} of {len(numbers)}"
    return CHANGED, f"sum {answer['sum']:.12g} of {answer['count']}, not {truth}"


def compared_times(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on milliseconds since 1970; the line may say what is cut off, or read in another unit."""
    instants = [value.means for value in values if value.means is not None]
    cut = [float(instant // 1) for instant in instants]
    if not is_stats_of(answer, cut):
        per_unit = 1000 if declared.declaration.get("format") == "epoch_second" else 1
        read = [per_unit * float(text) for value in values if value.means for text in value.texts if text.isdecimal()]
        if "another unit" in declared.why and is_stats_of(answer, read):
            return TOLD, "another unit"
        return CHANGED, f"{answer['count']} dates from {answer['min']}, not {len(cut)} from {min(cut, default=0)}"
    finer = any(instant % 1 for instant in instants)
    return (SAME, "") if not finer else (TOLD if "millisecond" in declared.why else CHANGED, "finer than milliseconds")


def compared_addresses(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on addresses; the line may say that others, such as longer versions, are not indexed."""
    meant = [str(value.means) for value in values if value.means is not None]
    if declared.source.sort == "word" and (other := [text for text in meant if normal(text) not in ("", text)]):
        return CHANGED, f"{other[0]} as an address"
    found = [address for text in meant if (address := normal(text))]
    wanted = Counter(found)
    if "zone" in declared.why and any("%" in address for address in found):
        return verdict_of(terms(answer) == Counter(each.partition("%")[0] for each in found), TOLD, "other addresses")
    told = TOLD if "no address" in declared.why else CHANGED
    return verdict_of(terms(answer) == wanted, SAME if wanted.total() == len(meant) else told, "other addresses")


def compared_flags(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on booleans; the line may say that an empty string is one."""
    wanted = Counter(str(value.means).lower() for value in values if value.means is not None)
    empty = sum("" in value.texts for value in values) if "empty string is false" in declared.why else 0
    with_empty = wanted + Counter({"false": empty})
    return verdict_of(terms(answer) == with_empty, TOLD if empty else SAME, f"{terms(answer)}, not {wanted}")


def compared_places(declared: Declared, values: Sequence[Value], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on the number of places; the line may say that a word is one."""
    odd = [text for value in values if value.means is None for text in value.texts]
    count = sum(value.means is not None for value in values) + sum(text in NO_WORDS for text in odd)
    words = sum(text in GEOHASHES for text in odd)
    told = TOLD if "may be a geohash" in declared.why else CHANGED
    # Elasticsearch 7.17 takes no GeoJSON for a point.
    geojson = sum(b'"coordinates"' in json_of(value.json) for value in values)
    if geojson and answer["value"] == count + words - geojson and "no place" in declared.why:
        return TOLD, "GeoJSON is no place there"
    return verdict_of(answer["value"] == count + words, told if words else SAME, f"{answer['value']}, not {count}")


NO_WORDS, GEOHASHES = ("POINT (1 2)", "1,2,3", "91,181"), ("test", "u33d")
"""Odd places that are places nevertheless, and words that servers take for some."""
COMPARISONS = (
    ({"keyword"}, {"word", "text", "flag"}, compared_words),
    ({"text"}, {"text"}, compared_texts),
    (NUMERIC, {"number", "time", "word"}, compared_numbers),
    ({"date"}, {"time"}, compared_times),
    ({"ip"}, {"address", "word"}, compared_addresses),
    ({"boolean"}, {"flag"}, compared_flags),
    ({"geo_point"}, {"place"}, compared_places),
    ({"nested", "object"}, {"objects", "place"}, compared_objects),
)
"""Types, and what the values of a source are, whatever their notation → the comparison."""


def is_stats_of(answer: Mapping[str, Any], numbers: Sequence[float], tolerance: float = 1e-12) -> bool:
    """Check that count, sum, least and most are those of the numbers."""
    if answer["count"] != len(numbers):
        return False
    if not numbers:
        return True
    wanted = {"sum": sum(numbers), "min": min(numbers), "max": max(numbers)}
    # A sum of negative and positive numbers may be nearly nothing.
    least = tolerance * sum(map(abs, numbers))
    return all(isclose(answer[name], of, rel_tol=tolerance, abs_tol=least) for name, of in wanted.items())


def terms(answer: Mapping[str, Any]) -> Counter[str]:
    """Term → documents."""
    return Counter({str(each.get("key_as_string", each["key"])): each["doc_count"] for each in answer["buckets"]})


def normal(text: object) -> str:
    """An address as Elasticsearch writes it; empty for other texts."""
    try:
        return str(ip_address(str(text)))
    except ValueError:
        return ""


# --- by hand --------------------------------------------------------------------------------------------------------


def table(pairs: Sequence[Pair]) -> str:
    """Verdicts by kind of source, and their sums."""
    lines = [" | ".join(("source", "pairs", *VERDICTS, "documents rejected"))]
    for kind in [*sorted({pair.declared.source.kind for pair in pairs}), "all"]:
        mine = [pair for pair in pairs if kind in ("all", pair.declared.source.kind)]
        counts = [sum(pair.verdict == verdict for pair in mine) for verdict in VERDICTS]
        lines.append(" | ".join(map(str, (kind, len(mine), *counts, sum(pair.rejected for pair in mine)))))
    return "\n".join(lines)


def main(url: str, wanted: int, begin: int = 0) -> None:
    """Judge so many pairs, and print the table and some differences of each kind.

    Args:
        begin: Seed of the sources.
    """
    pairs: list[Pair] = []

    @seed(begin)
    @settings(
        max_examples=-(-wanted // PACKED),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(sources(), min_size=PACKED, max_size=PACKED, unique=True),
        st.sampled_from((DOCUMENTS, DOCUMENTS // 2)),
    )
    def judge(packed: list[Source], most: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pairs.extend(judge_pairs(cluster, packed, Path(folder), most))
        wrong = sum(pair.verdict not in (SAME, TOLD) for pair in pairs)
        sys.stderr.write(f"{len(pairs)} pairs, seed {begin}: {wrong} wrong\n")

    with closing(ElasticsearchClient([url])) as cluster:
        judge()
    shown: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        key = (pair.declared.source.kind, pair.verdict)
        shown[key] += 1
        if pair.verdict not in (SAME, TOLD) and shown[key] <= 3:
            sys.stdout.write(f"{pair.verdict}: {pair.declared}: {pair.difference}\n")
    sys.stdout.write(f"{table(pairs)}\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
