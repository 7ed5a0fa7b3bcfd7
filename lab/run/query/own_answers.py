"""Right answers to questions about a file of the user's, computed by DuckDB from its documents, never from the index.

Only searches that translate exactly are computed: counts and aggregations over fields whose values the mapping indexes
as they stand in the file. Answers to any other search are compared with the first one to the same request. Semantics
are those of Elasticsearch's reference: query DSL, aggregations and field types, of versions 7.17 to 9.5.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from lab.extensions import Answer
from lab.profiles import Profile
from lab.profiles.mapping import index_body, mapping_for
from lab.profiles.questions import Question, filled, load_question
from lab.run.query.own_fields import (
    NUMBERS,
    Field,
    Json,
    NotComputedError,
    literal,
    located,
    only,
    sql,
    values_in,
    whole_number,
)
from lab.run.query.right_answers import RELATIVE, Within
from producers.dataset import Dataset

COUNTED_TO: Final = 10_000
"""Hits that a search counts where `track_total_hits` does not say (`SearchContext.DEFAULT_TRACK_TOTAL_HITS_UP_TO`)."""
DUCKDB: Final[dict[str, str | bool | int | float | list[str]]] = {"threads": 1, "memory_limit": "1GB"}


# --- answers ----------------------------------------------------------------------------------------------------------

NO_ANSWER: Final = frozenset(
    {"meta", "key", "key_as_string", "value_as_string", "doc_count_error_upper_bound", "sum_other_doc_count"}
)
"""Parts of an aggregation that repeat others, or say how it was made."""


APPROXIMATE: Final = frozenset(
    {
        "boxplot", "categorize_text", "diversified_sampler", "frequent_item_sets", "median_absolute_deviation",
        "percentile_ranks", "percentiles", "random_sampler", "rare_terms", "sampler", "scripted_metric",
        "significant_terms", "significant_text", "variable_width_histogram",
    }
)  # fmt: skip
"""Aggregations that a merge may change although no document did: they depend on the order of documents (t-digests of
`TDigestState`, samples, clusters), on deleted ones (background counts), or on a script."""


def inner(aggregation: Json) -> Json:
    """The aggregations below another one, or of a search."""
    return {**(aggregation.get("aggs") or {}), **(aggregation.get("aggregations") or {})}


def whole_answer(response: Json, request: Json) -> dict[str | tuple[str, ...], list[Any]]:
    """Hits and aggregations of a response, each value by its path: `by_country/KR/doc_count`; empty buckets left out.

    Of hits, what hits of equal rank leave as it is: the values that they are sorted by, or the ids where all are there.
    Approximate aggregations are left out.
    """
    total, hits = response["hits"].get("total"), response["hits"]["hits"]
    answer: dict[str | tuple[str, ...], list[Any]] = {}
    if total is not None:
        answer["hits"] = [_hits(total["value"], is_exact=total["relation"] == "eq")]
    if hits and "sort" in hits[0]:
        answer["sort"] = [value for hit in hits for value in hit["sort"]]
    elif hits and total is not None and total["value"] == len(hits):
        answer["ids"] = sorted(hit["_id"] for hit in hits)
    aggregations = response.get("aggregations", {})
    answer.update((path, [value]) for path, value in _values(aggregations, "", inner(request)))
    return answer


def _hits(count: int, *, is_exact: bool) -> int | str:
    return count if is_exact else f"{count}+"


def _values(tree: Json, path: str, asked: Json) -> Iterator[tuple[str, Any]]:
    for name, part in tree.items():
        aggregation = asked.get(name, {})
        if name == "buckets":
            named = part.items() if isinstance(part, Mapping) else ((str(bucket["key"]), bucket) for bucket in part)
            for key, bucket in named:
                if bucket["doc_count"]:
                    yield from _values(bucket, f"{path}{key}/", asked)
        elif name not in NO_ANSWER and APPROXIMATE.isdisjoint(aggregation):
            here = f"{path}{name}"
            yield from _values(part, f"{here}/", inner(aggregation)) if isinstance(part, Mapping) else [(here, part)]


# --- the search in SQL ------------------------------------------------------------------------------------------------

BODY: Final = frozenset({"query", "aggs", "aggregations", "size", "track_total_hits"})
CALENDAR: Final = {
    "1m": "minute",
    "1h": "hour",
    "1d": "day",
    "1w": "week",
    "1M": "month",
    "1q": "quarter",
    "1y": "year",
}
FIXED_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
COMPARISONS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
METRICS: Final = {"sum": "coalesce(fsum(v), 0)", "avg": "favg(v)", "min": "min(v)", "max": "max(v)"}
ROUNDING: Final = {"sum": "sum(abs(v::DOUBLE))", "avg": "avg(abs(v::DOUBLE))"}
"""Size of the numbers whose rounding, shard by shard, an answer holds; of an instant or a bound there is none."""
LEAST_BITS: Final = 2.0**-50
"""Part of that size: four roundings of a double."""


class Search:
    """A search as SQL over the fields of a mapping.

    Args:
        mappings: `mappings` of the index.
        fetch: Rows of a statement.

    Raises:
        NotComputedError: It does not translate exactly.
    """

    def __init__(self, mappings: Json, fetch: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self._mappings = mappings
        self._fetch = fetch
        self.fields: dict[str, Field] = {}

    def answer(self, request: Json) -> dict[str | tuple[str, ...], list[Any]]:
        """The whole answer to the body of a search."""
        only(request, BODY, "the search")
        if request.get("size") != 0:
            raise NotComputedError("hits are computed as a number only, with `size: 0`")
        where = self._condition(request.get("query", {"match_all": {}}))
        tracked = request.get("track_total_hits", COUNTED_TO)
        answer: dict[str | tuple[str, ...], list[Any]] = {}
        if tracked is not False:
            count = self._count(where)
            is_exact = tracked is True or count <= int(tracked)
            answer["hits"] = [_hits(count if is_exact else int(tracked), is_exact=is_exact)]
        answer.update((path, [value]) for path, value in self._aggregations(inner(request), where, ""))
        return answer

    def _field(self, name: str) -> Field:
        if name not in self.fields:
            source, settings = located(self._mappings, name)
            self.fields[name] = Field(name, source, settings)
        return self.fields[name]

    def _count(self, where: str) -> int:
        ((count,),) = self._fetch(f"SELECT count(*) FROM docs WHERE {where}")  # noqa: S608 - made of our own words
        return int(count)

    # --- queries ---

    def _condition(self, query: Json) -> str:
        if len(query) != 1:
            raise NotComputedError("a query of several kinds in one object")
        ((kind, body),) = query.items()
        if kind == "match_all":
            return "true"
        if kind == "bool":
            return self._bool(body)
        if kind == "constant_score":
            return self._condition(body["filter"])
        if kind == "exists":
            only(body, {"field", "boost"}, "`exists`")
            return self._having(self._field(body["field"]), "true")
        given = [name for name in body if name != "boost"] if kind in ("term", "terms", "range") else []
        if len(given) != 1:
            raise NotComputedError(f"`{kind}` is not computed")
        field, asked = self._field(given[0]), body[given[0]]
        return self._range(field, asked) if kind == "range" else self._terms(field, asked, kind)

    def _terms(self, field: Field, asked: Any, kind: str) -> str:
        if kind == "term":
            if isinstance(asked, Mapping):
                only(asked, {"value", "boost"}, "`term`")
                asked = asked["value"]
            asked = [asked]
        if not isinstance(asked, list) or field.type == "date":
            raise NotComputedError(f"`{kind}` of `{field.name}` is not computed")
        literals = [literal(field, value) for value in asked]
        return self._having(field, f"v IN ({', '.join(literals)})") if literals else "false"

    def _range(self, field: Field, asked: Json) -> str:
        only(asked, {*COMPARISONS, "boost"}, "`range`")
        if field.type not in {*NUMBERS, "date"}:
            raise NotComputedError(f"`range` of `{field.name}` ({field.type}) is not computed")
        bounds = {name: value for name, value in asked.items() if name != "boost" and value is not None}
        for name, value in bounds.items():
            # Elasticsearch fills up what such a date leaves out: to the end of the day, the second.
            if field.type == "date" and name in ("gt", "lte") and not re.search(r"\.\d{3}", str(value)):
                raise NotComputedError(f"`{name}` of a date without milliseconds is not computed")
        tests = [f"v {COMPARISONS[name]} {literal(field, value)}" for name, value in bounds.items()]
        return self._having(field, " AND ".join(tests) or "true")

    def _bool(self, body: Json) -> str:
        only(body, {"must", "filter", "must_not", "should", "minimum_should_match", "boost"}, "`bool`")
        clauses = {
            name: [self._condition(each) for each in (of if isinstance(of, list) else [of])]
            for name in ("must", "filter", "must_not", "should")
            if (of := body.get(name)) is not None
        }
        needed = [*clauses.get("must", ()), *clauses.get("filter", ())]
        tests = [*needed, *(f"NOT {each}" for each in clauses.get("must_not", ()))]
        should = clauses.get("should", [])
        least = body.get("minimum_should_match", 0)
        if not isinstance(least, int) or isinstance(least, bool) or least < 0 or (least and not should):
            raise NotComputedError("this `minimum_should_match` is not computed")
        if should and not needed:
            least = max(1, least)  # Lucene's `BooleanQuery`: without a required clause, one of the others must match.
        if least:
            tests.append(f"({' + '.join(f'({each})::INTEGER' for each in should)}) >= {least}")
        return f"({' AND '.join(f'({each})' for each in tests) or 'true'})"

    @staticmethod
    def _having(field: Field, test: str) -> str:
        return f"(doc IN (SELECT doc FROM {field.table} WHERE {test}))"  # noqa: S608 - literals are quoted

    # --- aggregations ---

    def _aggregations(self, aggregations: Json, where: str, path: str) -> Iterator[tuple[str, Any]]:
        for name, aggregation in aggregations.items():
            below = inner(aggregation)
            kinds = [kind for kind in aggregation if kind not in ("aggs", "aggregations", "meta")]
            if len(kinds) != 1 or name in NO_ANSWER or name == "buckets":
                raise NotComputedError(f"`{name}` is not one aggregation")
            kind, body, here = kinds[0], aggregation[kinds[0]], f"{path}{name}/"
            if kind == "filter":
                both = f"({where}) AND {self._condition(body)}"
                yield f"{here}doc_count", self._count(both)
                yield from self._aggregations(below, both, here)
            elif kind in ("terms", "date_histogram"):
                field, bucket, order = self._buckets(kind, body)
                yield from self._bucket_values(field, (bucket, order), where, (below, here))
            else:
                yield f"{here}value", self._metric(kind, body, where)

    def _metric(self, kind: str, body: Json, where: str) -> float | int | None:
        if kind not in {*METRICS, "value_count"}:
            raise NotComputedError(f"the aggregation `{kind}` is not computed")
        only(body, {"field", "format"}, f"`{kind}`")
        field = self._field(body["field"])
        is_instant = field.type == "date" and kind in ("min", "max")
        if kind != "value_count" and field.type not in NUMBERS and not is_instant:
            raise NotComputedError(f"`{kind}` of `{field.name}` ({field.type}) is not computed")
        value = f"{METRICS.get(kind, 'count(v)')}, {ROUNDING.get(kind, '0')}"
        chosen = f"doc IN (SELECT doc FROM docs WHERE {where})"  # noqa: S608 - made of our own words
        ((found, size),) = self._fetch(f"SELECT {value} FROM {field.table} WHERE {chosen}")  # noqa: S608 - likewise
        if found is None:
            return None
        if kind == "value_count":
            return int(found)
        return Within(found, max(RELATIVE * abs(found), LEAST_BITS * (size or 0)) if kind in ROUNDING else 0.0)

    def _buckets(self, kind: str, body: Json) -> tuple[Field, str, str]:
        """Field, bucket of a value, and order and number of buckets."""
        if kind == "terms":
            only(body, {"field", "size", "shard_size", "order", "min_doc_count"}, "`terms`")
            order = body.get("order", {"_count": "desc"})
            names = {'{"_count": "desc"}': "n DESC, k", '{"_key": "asc"}': "k", '{"_key": "desc"}': "k DESC"}
            if (by := names.get(json.dumps(order))) is None or body.get("min_doc_count", 1) != 1:
                raise NotComputedError("this order of `terms` is not computed")
            return self._field(body["field"]), "v", f"ORDER BY {by} LIMIT {int(body.get('size', 10))}"
        only(body, {"field", "fixed_interval", "calendar_interval", "min_doc_count", "format"}, "`date_histogram`")
        field = self._field(body["field"])
        fixed = re.fullmatch(r"([1-9]\d*)(ms|s|m|h|d)", str(body.get("fixed_interval")))
        calendar = str(body.get("calendar_interval"))
        calendar = CALENDAR.get(calendar, calendar)
        if field.type != "date" or body.get("min_doc_count", 0) > 1 or not (fixed or calendar in CALENDAR.values()):
            raise NotComputedError(f"this `date_histogram` of `{field.name}` is not computed")
        if fixed:
            length_ms = int(fixed[1]) * FIXED_MS[fixed[2]]
            return field, f"v - (v % {length_ms} + {length_ms}) % {length_ms}", ""
        return field, f"epoch_ms(date_trunc('{calendar}', epoch_ms(v)))", ""

    def _bucket_values(
        self, field: Field, of: tuple[str, str], where: str, inside: tuple[Json, str]
    ) -> Iterator[tuple[str, Any]]:
        (bucket, order), (below, here) = of, inside
        rows = self._fetch(
            f"SELECT {bucket} AS k, count(DISTINCT doc) AS n FROM {field.table} "  # noqa: S608 - our own words
            f"WHERE doc IN (SELECT doc FROM docs WHERE {where}) GROUP BY k {order}"
        )
        for key, count in rows:
            yield f"{here}{key}/doc_count", count
            if below:
                in_bucket = f"({where}) AND {self._having(field, f'{bucket} = {sql(field, key)}')}"
                yield from self._aggregations(below, in_bucket, f"{here}{key}/")


# --- one question -----------------------------------------------------------------------------------------------------


def fields_used(question: Question, mappings: Json) -> dict[str, Field]:
    """Fields that a question uses, with any value of each parameter.

    Raises:
        NotComputedError: It does not translate exactly.
    """
    search = Search(mappings, lambda statement: [(0,)] if "count(*)" in statement else [(0, 0)])
    choices = {name: parameter.one_of or [] for name, parameter in question.parameters.items()}
    for number in range(max(map(len, choices.values()), default=1)):
        values = {name: of[number % len(of)] for name, of in choices.items()}
        try:
            search.answer(filled(question.request or {}, values))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise NotComputedError("a part of the search is of another form than the reference has") from error
    return search.fields


CHANGES: Final = frozenset({"transforms", "pipeline", "metadata.fields", "unavailable.value.placeholder"})
"""Settings of the connector that change documents."""
PIPELINES: Final = ("default_pipeline", "final_pipeline")


def changed_by(profile: Profile, root: Path) -> str | None:
    """Setting by which the index holds other values than the file; `None` if there is none."""
    settings = index_body(mapping_for(profile, root), profile.index, lambda _: True)["settings"]["index"]
    mode = settings.get("mode") or "standard"
    changes = [
        *(f"sink.config.{name}" for name in sorted(CHANGES & profile.sink.config.keys())),
        *(f"index.{name}" for name in PIPELINES if settings.get(name, "_none") != "_none"),
        # Its limit is that of all keywords; other modes than the standard one bring one along.
        *(["index.mapping.ignore_above"] if "mapping.ignore_above" in settings else []),
        *([f"index.mode: {mode}"] if mode != "standard" else []),
    ]
    return next(iter(changes), None)


def why_not_computed(question: Question, mappings: Json, changed: str | None = None) -> str | None:
    """Reason why no right answer to a question can be computed, as far as the mapping says; `None` if it can.

    Args:
        changed: As `changed_by` gives it.
    """
    try:
        check_unchanged(changed)
        fields_used(question, mappings)
    except NotComputedError as reason:
        return str(reason)
    return None


def told_beforehand(profile: Profile, root: Path) -> Iterator[str]:
    """A sentence for each question of a profile about the user's own file: with what its answers will be compared."""
    for name in profile.queries.questions if profile.queries else ():
        question = load_question(name, root)
        if question.is_about_a_file:
            mappings = mapping_for(profile, root).get("mappings", {})
            why = why_not_computed(question, mappings, changed_by(profile, root))
            kind = (
                f"answers compared with each other only, within a run ({why})"
                if why
                else "right answers computed by DuckDB"
            )
            yield f"question {name}: {kind}"


def check_unchanged(changed: str | None) -> None:
    """Raise NotComputedError if a setting changes documents on their way into the index."""
    if changed:
        raise NotComputedError(f"`{changed}` may change what is in the index")


def check_complete(dataset: Dataset, stored: int, rejected: int) -> None:
    """Raise NotComputedError unless the index holds every document of the file that was not rejected.

    Each must have a key of its own: otherwise nobody knows which of several documents was rejected.
    """
    if not len(dataset.latest()) == dataset.documents == stored + rejected:
        beside = f", beside {rejected:,} rejected ones" if rejected else ""
        raise NotComputedError(f"the index holds {stored:,} documents of {dataset.documents:,} in the file{beside}")


class OwnAnswers:
    """Right answers to a question about a file, or why there are none.

    Args:
        stored: Documents in the index.
        changed: As `changed_by` gives it.
        rejected: Keys of the documents that are dead letters, which right answers leave out.

    Attributes:
        not_computed: Why; `None` where they are.
        left_out: Rejected documents that are no part of the right answers.
    """

    def __init__(
        self,
        question: Question,
        dataset: Dataset,
        mappings: Json,
        stored: int,
        *,
        changed: str | None = None,
        rejected: Collection[bytes] = (),
    ) -> None:
        import duckdb  # noqa: PLC0415 - only these questions need its 70 MB

        self._request, self._mappings = question.request or {}, mappings
        self._duckdb = duckdb.connect(config=DUCKDB)
        self.not_computed: str | None = None
        self.left_out = 0
        try:
            check_unchanged(changed)
            fields = fields_used(question, mappings)
            check_complete(dataset, stored, len(rejected))
            self.left_out = dataset.documents - self._load(list(fields.values()), dataset, rejected)
        except NotComputedError as reason:
            self.not_computed = str(reason)

    def _load(self, fields: Sequence[Field], dataset: Dataset, rejected: Collection[bytes]) -> int:
        """Fill the tables with all documents but the rejected ones; how many they are."""
        rows: list[tuple[list[int], list[Any]]] = [([], []) for _ in fields]
        number = 0
        for batch in dataset.batches(0, dataset.documents):
            for key, content in batch:
                if key in rejected:
                    continue
                document = json.loads(content, parse_int=whole_number)
                for field, (places, held) in zip(fields, rows, strict=True):
                    values = [field.value(value) for value in values_in(document, field.source.split("."))]
                    kept = [value for value in values if value is not None]
                    kept = kept if field.has_repeats else list(dict.fromkeys(kept))
                    places.extend([number] * len(kept))
                    held.extend(kept)
                number += 1
        if number + len(rejected) != dataset.documents:
            raise NotComputedError("a dead letter has a key that no document of the file has")
        for field, (_, held) in zip(fields, rows, strict=True):
            # No order of summing them, in any shard or bucket, then overflows.
            if field.type == "double" and math.isinf(sum(map(abs, held))):
                raise NotComputedError(f"`{field.name}` (double) has values whose sum overflows")
        self._duckdb.execute("CREATE TABLE docs AS SELECT range AS doc FROM range(?)", [number])
        for field, (places, held) in zip(fields, rows, strict=True):
            of_type = {"VARCHAR": object, "DOUBLE": np.float64, "BIGINT": np.int64}[field.sql_type]
            self._duckdb.register("read", {"doc": np.array(places, np.int64), "v": np.array(held, of_type)})
            values_of = f"SELECT doc, v::{field.sql_type} AS v FROM read"  # noqa: S608 - made of our own words
            self._duckdb.execute(f"CREATE TABLE {field.table} AS {values_of}")
        return number

    def right(self, values: Mapping[str, str | int]) -> Answer | None:
        """The right answer for these values; `None` where none can be computed."""
        if self.not_computed is not None:
            return None
        search = Search(self._mappings, lambda statement: self._duckdb.execute(statement).fetchall())
        return search.answer(filled(self._request, values))
