"""What can be wrong with a profile's questions and its query load, beyond what a model of either can see."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.profiles.datasets import KnownDataset, dataset_in
from lab.profiles.files import file_of
from lab.profiles.index_settings import refresh_complaint
from lab.profiles.located import Located
from lab.profiles.mapping import FOLDER
from lab.profiles.models import QueryLoad
from lab.profiles.problems import Problem, suggestion
from lab.profiles.questions import Question, aggregations_of, question_names, read_question
from lab.profiles.yaml_model import unknown_name

DEFAULT_WARM_UP_S = QueryLoad.model_fields["warm_up_s"].default
LEAST_FOR_BBQ = 64
"""Dimensions below which Elasticsearch refuses `bbq_hnsw` and `bbq_flat`."""
LEAST_IN_A_STEP = 100
"""Queries of a ramp's step: with fewer, p99 is the slowest one."""

TERM_LEVEL = ("match", "prefix", "range", "term", "terms", "wildcard")


def query_problems(tree: Located, root: Path) -> Iterator[Problem]:
    """Questions that do not exist, that cannot be asked of these documents, or whose own file has problems."""
    names = question_names(root)
    questions = _listed(tree, "questions")
    texts = [str(entry.value) for entry in questions]
    for entry in questions:
        yield from unknown_name(entry, "queries.questions", "question", names)
        if entry.value in names:
            yield from _question_problems(entry, tree, root)
        if texts.count(str(entry.value)) > 1:
            yield Problem(entry.place, "queries.questions", f'"{entry.value}" is listed twice, expected once')
    for entry in _listed(tree, "expect_wrong"):
        if isinstance(entry.value, str) and entry.value not in texts:
            remedy = suggestion(entry.value, set(texts), "one of `queries.questions`")
            yield Problem(entry.place, "queries.expect_wrong", f'unknown question "{entry.value}", {remedy}')
    yield from _dimension_problems(tree, root)
    yield from _load_problems(tree)
    yield from _extent_problems(tree)
    yield from _window_problems(tree)


def _listed(tree: Located, key: str) -> list[Located]:
    entry = tree.at("queries", key)
    return entry.value if entry is not None and isinstance(entry.value, list) else []


def _is_query_load(tree: Located) -> bool:
    return tree.at("load", "queries") is not None or _mode(tree) == "query"


def _mode(tree: Located) -> object:
    mode = tree.at("load", "mode")
    return mode.value if mode is not None else None


def _number(tree: Located, *path: str) -> float | None:
    """A number that a profile states; `None` for none, and for what is a problem already."""
    entry = tree.at(*path)
    value = entry.value if entry is not None and not entry.broken else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


# --- the load ---------------------------------------------------------------------------------------------------------


def _load_problems(tree: Located) -> Iterator[Problem]:
    """A query load without questions, without an end, or with two rates or ends."""
    if not _is_query_load(tree):
        return
    load, of = tree.at("load"), "load.queries"
    stated = {name for name in ("duration_s", "requests", "rate_per_s") if tree.at("load", "queries", name) is not None}
    place = tree.place_of("load", "queries")
    ramp = load.at("ramp") if load is not None else None
    if tree.at("queries", "questions") is None:
        message = "a query load has no question to send, expected `queries.questions`"
        yield Problem(place, of, message, is_absence=True)
    if _mode(tree) == "query" and ramp is None and not stated & {"duration_s", "requests"}:
        yield Problem(place, of, "has no end, expected `duration_s` or `requests`", is_absence=True)
    if {"duration_s", "requests"} <= stated:
        message = "`duration_s` is given already, expected one of the two"
        yield Problem(tree.place_of("load", "queries", "requests"), f"{of}.requests", message)
    if "rate_per_s" in stated and (_number(tree, "load", "queries", "think_time_s") or 0) > 0:
        message = "got a think time beside `rate_per_s` (open loop), expected one of the two"
        yield Problem(tree.place_of("load", "queries", "think_time_s"), f"{of}.think_time_s", message)
    if _mode(tree) == "query" and ramp is not None and "rate_per_s" not in stated:
        message = "has no rate to start from, expected `load.queries.rate_per_s`"
        yield Problem(ramp.place, "load.ramp", message, is_absence=True)
    for name in ("repeats", "warm_up"):
        if (entry := tree.at("queries", name)) is not None:
            message = "`load.queries` says how many are sent, expected none"
            yield Problem(entry.place, f"queries.{name}", message)


def _extent_problems(tree: Located) -> Iterator[Problem]:
    """A load that its time limit cuts off, steps too short for a p99, and documents that are never searchable."""
    if not _is_query_load(tree):
        return
    duration_s, timeout_s = _number(tree, "load", "queries", "duration_s"), _number(tree, "load", "timeout_s") or 3600
    stated_s = _number(tree, "load", "queries", "warm_up_s")
    warm_up_s = DEFAULT_WARM_UP_S if stated_s is None else stated_s
    if duration_s is not None and warm_up_s + duration_s >= timeout_s:
        left = f"less than {timeout_s - warm_up_s:g}, which `load.timeout_s` leaves after the warm-up"
        message = f"got {duration_s:g}, expected {left}"
        yield Problem(tree.place_of("load", "queries", "duration_s"), "load.queries.duration_s", message)
    requests = _number(tree, "load", "queries", "requests")
    rate, step_s = _number(tree, "load", "queries", "rate_per_s"), _number(tree, "load", "ramp", "step_s")
    most = (timeout_s - warm_up_s) * (rate or 0)
    if rate and requests and requests >= most >= 1:
        left = f"less than {most:,.0f}, for which `load.timeout_s` leaves time at that rate"
        message = f"got {requests:,.0f}, expected {left}"
        yield Problem(tree.place_of("load", "queries", "requests"), "load.queries.requests", message)
    if _mode(tree) == "query" and rate and step_s and rate * step_s < LEAST_IN_A_STEP:
        message = f"got {step_s:g}, expected {LEAST_IN_A_STEP / rate:g} or more: p99 needs {LEAST_IN_A_STEP} queries"
        yield Problem(tree.place_of("load", "ramp", "step_s"), "load.ramp.step_s", message)
    refresh = tree.at("index", "refresh_interval")
    if _mode(tree) == "stream" and refresh is not None and (complaint := refresh_complaint(refresh.value)):
        yield Problem(refresh.place, "index.refresh_interval", complaint)


# --- questions --------------------------------------------------------------------------------------------------------


def _question_problems(entry: Located, tree: Located, root: Path) -> Iterator[Problem]:
    question, problems = read_question(str(entry.value), root)
    yield from problems
    dataset = dataset_in(tree)
    if question is None or problems or dataset is None:
        return
    model = _model_of(question, dataset, tree)
    if question.dataset != dataset.name:
        message = f'"{entry.value}" is about the dataset `{question.dataset}`, got `{dataset.name}`'
        yield Problem(entry.place, "queries.questions", message)
    elif model not in question.models:
        message = f'"{entry.value}" has no request for model `{model}`, {suggestion(model, question.models, "a model")}'
        yield Problem(entry.place, "queries.questions", message)
    else:
        for message in (*_unfit_for_the_load(question, model, tree), *_unfit_fields(question, model, tree, root)):
            yield Problem(entry.place, "queries.questions", f'"{entry.value}" {message}')


def _model_of(question: Question, dataset: KnownDataset, tree: Located) -> str:
    chosen = tree.at("queries", "model")
    return str(chosen.value) if chosen is not None else dataset.model_in(tree) or next(iter(question.models))


def _unfit_for_the_load(question: Question, model: str, tree: Located) -> Iterator[str]:
    if not _is_query_load(tree) and tree.at("maintain", "queries") is None:
        if question.is_about_events:
            yield "is about a window of events, expected `load.queries`, which draws one"
        if question.is_about_vectors:
            yield "is about the nearest vectors, expected `load.queries`, which draws the query vectors"
        return
    steps = len(question.models[model])
    if steps > 1:
        yield f"takes {steps} requests with model `{model}`, expected one in a query load"
    if question.is_about_vectors and _mode(tree) == "stream" and not _number(tree, "dataset", "updates"):
        yield (
            "cannot be checked while new vectors stream, expected `dataset.updates`, with which queries begin when "
            "only updates are left, or `load.mode: query`"
        )
    ignored = tree.at("sink", "config", "key.ignore")
    if question.is_about_vectors and ignored is not None and str(ignored.value).lower() == "true":
        yield "needs ids that are keys, expected no `sink.config.key.ignore: true`"
    if (question.is_about_books or question.is_about_a_file or question.kind) and _mode(tree) == "stream":
        yield "cannot be checked while documents stream, expected `load.mode: query`"
    size = question.models[model][0].request.get("size", 10)
    if question.truth.answer.ids and isinstance(size, int):
        events = _events_in_a_window(tree)
        if events is not None and events > size:
            yield f"returns {size:,} events, and a window holds {events:,}; expected a shorter `queries.window.seconds`"


# --- fields of the mapping --------------------------------------------------------------------------------------------


def _unfit_fields(question: Question, model: str, tree: Located, root: Path) -> Iterator[str]:
    """What the mapping has no way to answer: Elasticsearch would refuse it, or answer as if there were no documents."""
    name, mappings = _mapping_in(tree, root)
    if mappings is None:
        return
    is_closed = mappings.get("dynamic") in ("strict", "false", False)
    for step in question.models[model]:
        runtime = step.request.get("runtime_mappings")
        known = runtime.keys() if isinstance(runtime, Mapping) else ()
        for field in dict.fromkeys(_collected_fields(step.request)):
            if field not in known and (why := _why_not_collected(_field_of(mappings, field))):
                yield f"sorts or counts by `{field}`, which mapping {name} {why}{_other_model(question, field)}"
        for field in dict.fromkeys(_queried_fields(step.request.get("query"))):
            if is_closed and field not in known and _field_of(mappings, field) is None:
                yield f"asks for `{field}`, which mapping {name} does not have"


def _mapping_in(tree: Located, root: Path) -> tuple[str, Mapping[str, Any] | None]:
    """The name of a profile's mapping and what it says; `None` where it cannot be read, which is told elsewhere."""
    entry, dataset = tree.at("mapping"), dataset_in(tree)
    default = dataset.mapping_in(tree) if dataset is not None else ""
    name = str(entry.value) if entry is not None else default
    try:
        body = json.loads(file_of(FOLDER, f"{name}.json", root).read_text(encoding="utf-8-sig"))
        return name, dict(body["mappings"])
    except (OSError, ValueError, KeyError, TypeError):
        return name, None


def _field_of(mappings: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    entry: Any = mappings
    for part in path.split("."):
        entry = {**entry.get("fields", {}), **entry.get("properties", {})}.get(part)
        if entry is None:
            return None
    return dict(entry)


def _dimension_problems(tree: Located, root: Path) -> Iterator[Problem]:
    """Vectors that an index type refuses, each by itself, and only when they are loaded."""
    dataset = dataset_in(tree)
    if dataset is None or "dimensions" not in dataset.options:
        return
    stated = _number(tree, "dataset", "dimensions")
    dimensions = int(str(dataset.options["dimensions"].default)) if stated is None else int(stated)
    name, mappings = _mapping_in(tree, root)
    for field in (mappings or {}).get("properties", {}).values():
        index_type = str(field.get("index_options", {}).get("type", ""))
        if index_type in ("bbq_hnsw", "bbq_flat") and dimensions < LEAST_FOR_BBQ:
            expected = f"at least {LEAST_FOR_BBQ}"
        elif index_type.startswith("int4") and dimensions % 2:
            expected = "an even number"
        else:
            continue
        message = f"got {dimensions}, expected {expected} for `{index_type}` of mapping {name}"
        yield Problem(tree.place_of("dataset", "dimensions"), "dataset.dimensions", message)


def _why_not_collected(field: Mapping[str, Any] | None) -> str | None:
    if field is None:
        return "does not have"
    if field.get("type") == "text":
        return None if field.get("fielddata") else "has as text without fielddata"
    return "has without doc values" if field.get("doc_values") is False else None


def _other_model(question: Question, field: str) -> str:
    """What to do about a field: ask the requests that read it from the source."""
    for model, steps in question.models.items():
        runtime = [step.request.get("runtime_mappings") for step in steps]
        if any(isinstance(fields, Mapping) and field in fields for fields in runtime):
            return f"; expected `queries.model: {model}` or another mapping"
    return "; expected another mapping"


def _collected_fields(request: Mapping[str, Any]) -> Iterator[str]:
    """Fields whose values are read document by document: those of aggregations, `sort` and `collapse`."""
    for _, kind, body in aggregations_of(request):
        if isinstance(body, Mapping) and "field" in body and kind != "nested":
            yield str(body["field"])
    sort = request.get("sort", [])
    for entry in sort if isinstance(sort, list) else [sort]:
        for field in entry if isinstance(entry, Mapping) else [entry]:
            if not str(field).startswith("_"):
                yield str(field)
    collapse = request.get("collapse")
    if isinstance(collapse, Mapping):
        yield str(collapse["field"])


def _queried_fields(query: Any) -> Iterator[str]:
    if isinstance(query, list):
        for part in query:
            yield from _queried_fields(part)
    for kind, body in query.items() if isinstance(query, Mapping) else ():
        if kind in TERM_LEVEL and isinstance(body, Mapping):
            yield from (name for name in body if name != "boost")
        else:
            yield from _queried_fields(body)


# --- the window -------------------------------------------------------------------------------------------------------


def _window_problems(tree: Located) -> Iterator[Problem]:
    """A window of documents that do not say when they were, or one that is longer than they last."""
    window, dataset = tree.at("queries", "window"), dataset_in(tree)
    if window is None or dataset is None:
        return
    if "interval_us" not in dataset.options:
        message = f"documents of `{dataset.name}` are not in order of time, expected none"
        yield Problem(window.place, "queries.window", message)
        return
    seconds, within = _number(tree, "queries", "window", "seconds"), _number(tree, "queries", "window", "within")
    lasts = _lasts_s(tree, dataset)
    if seconds is None or lasts is None:
        return
    if seconds > lasts:
        message = f"got {seconds:g}, expected at most {lasts:g}, which is how long the documents last"
        yield Problem(tree.place_of("queries", "window", "seconds"), "queries.window.seconds", message)
    elif within is not None and 0 < within <= 1 and within * lasts < seconds:
        message = f"got {within:g}, expected at least {seconds / lasts:.3g}, which holds one window"
        yield Problem(tree.place_of("queries", "window", "within"), "queries.window.within", message)


def _documents(tree: Located) -> float | None:
    return _number(tree, "dataset", "documents")


def _interval_us(tree: Located, dataset: KnownDataset) -> float:
    stated = _number(tree, "dataset", "interval_us")
    return float(str(dataset.options["interval_us"].default)) if stated is None else stated


def _lasts_s(tree: Located, dataset: KnownDataset) -> float | None:
    """How long the documents last; a millisecond where they are all of one instant."""
    documents = _documents(tree)
    return max(0.001, documents * _interval_us(tree, dataset) / 1e6) if documents is not None else None


def _events_in_a_window(tree: Located) -> int | None:
    """Most events of a window, or all where there is none; `None` where the profile does not say."""
    dataset, documents = dataset_in(tree), _documents(tree)
    if dataset is None or documents is None or "interval_us" not in dataset.options:
        return None
    seconds, interval_us = _number(tree, "queries", "window", "seconds"), _interval_us(tree, dataset)
    if seconds is None or interval_us <= 0:
        return int(documents)
    return min(int(documents), -int(-max(1, round(seconds * 1000)) * 1000 // interval_us))
