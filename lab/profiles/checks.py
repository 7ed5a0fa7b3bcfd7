"""Everything that can be wrong with a merged profile, found in one pass and reported in the words of its author."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.engines import DEFAULT, ENGINES, Engine, Release, parsed_version
from lab.extensions import PIPELINES, example_pipelines
from lab.profiles.connector_keys import connector_key_problems
from lab.profiles.datasets import KnownDataset, dataset_in
from lab.profiles.files import names_in
from lab.profiles.index_settings import expected_value, known_settings
from lab.profiles.layers import OF_A_CONNECTOR, ONLY_DRAINS, ONLY_QUERIES, WITHOUT_USE_FOR_DIRECT
from lab.profiles.layouts import layout_problems
from lab.profiles.located import Located
from lab.profiles.maintain import SET_BY_DEPLOYMENT, maintain_problems
from lab.profiles.mapping import FOLDER, TEMPLATES
from lab.profiles.models import BOUNDS, NOT_KAFKA, Direct, Elasticsearch, Profile, Rally, Stream
from lab.profiles.problems import Problem, nearest, suggestion
from lab.profiles.query_checks import query_problems
from lab.profiles.yaml_model import TreePath, fields_at, model_of, shown, unknown_name
from producers.registry import DATASETS, Option

_MADE_BY_THE_LOADER = frozenset({"name", "where"})
_TOP_LEVEL = (frozenset(Profile.model_fields) - _MADE_BY_THE_LOADER) | {"extends"}
_SET_BY_THE_RUN: Mapping[tuple[str, ...], str] = {
    ("sink", "config", "tasks.max"): "`sink.tasks`",
    ("sink", "config", "name"): "nothing: the run names its connector",
    ("sink", "config", "topics"): "nothing: the run names its topic",
    ("sink", "config", "connection.url"): "nothing: the run knows its cluster",
    ("sink", "config", "index.name"): "nothing: the run names its index",
    ("sink", "config", "errors.deadletterqueue.topic.name"): "nothing: the run names its dead-letter topic",
    ("producer", "client", "bootstrap.servers"): "nothing: the run knows its brokers",
    **{
        ("elasticsearch", "node_settings", name): "nothing: the run creates its nodes"
        for name in (
            "cluster.initial_cluster_manager_nodes",
            "cluster.initial_master_nodes",
            "cluster.name",
            "discovery.seed_hosts",
            "discovery.type",
            "http.port",
            "network.host",
            "node.name",
            "node.roles",
            "path.data",
            "path.logs",
            "transport.port",
        )
    },
}


def checked(tree: Located, values: Mapping[str, Any], root: Path) -> tuple[Profile | None, list[Problem]]:
    """The profile that a merged tree makes, or why it makes none, and every problem of it.

    Args:
        values: What the model is given: the values of the tree, and what follows from them.
    """
    profile, problems = model_of(tree, Profile, values, unknown_key)
    return profile, [*problems, *_problems_beside_types(tree, root)]


def _problems_beside_types(tree: Located, root: Path) -> Iterator[Problem]:
    for name in sorted(tree.entries.keys() & _MADE_BY_THE_LOADER):
        yield Problem(tree.entries[name].place, name, unknown_key((name,)))
    yield from _dataset_problems(tree)
    yield from _index_problems(tree)
    yield from _time_series_problems(tree)
    for path, message in _useless(tree):
        entry = tree.at(*path)
        if entry is not None:
            yield Problem(entry.place, ".".join(path), message)
    yield from _several_indices_problems(tree)
    yield from _client_problems(tree)
    yield from connector_key_problems(tree, root)
    yield from _bound_problems(tree)
    yield from _engine_problems(tree)
    yield from layout_problems(tree)
    yield from query_problems(tree, root)
    yield from maintain_problems(tree)
    for key, what, folder in (
        (("mapping",), "mapping", FOLDER),
        (("sink", "connector"), "connector template", TEMPLATES),
    ):
        entry = tree.at(*key)
        if entry is not None and (names := names_in(folder, root, ".json")):
            yield from unknown_name(entry, ".".join(key), what, names)
    if (pipeline := tree.at("sink", "pipeline")) is not None:
        # One of our examples may not be installed: that is no mistake of the file, and a suite goes without it.
        yield from unknown_name(pipeline, "sink.pipeline", "pipeline", {*PIPELINES, *example_pipelines(root)})


_OF_OTHER_LOADS: tuple[tuple[Collection[str], str], ...] = (
    (ONLY_QUERIES, "got a setting of query-only loads, expected none, or `mode: query`"),
    (("pace",), "got a pace for another load, expected none, or `mode: stream`"),
    (("stages", "pause"), "got a setting of streams, expected none, or `mode: stream`"),
    (("via",), "got it for a query-only load, expected none, or another `mode`"),
    (Direct.model_fields, "got a setting of direct loads, expected none, or `via: direct`"),
    (Rally.model_fields, "got a setting of Rally loads, expected none, or `via: rally`"),
    (ONLY_DRAINS, "got a setting of drains through Kafka, expected none, or `mode: drain` and `via: kafka`"),
    (
        Stream.model_fields,
        "got a setting of streams and query-only loads, expected none, or `mode: stream` or `mode: query`",
    ),
)
"""Settings that other kinds of load have, and what to say about them."""


def unknown_key(path: TreePath) -> str:
    """What to say about a key that a profile does not have: what was probably meant, or where it belongs."""
    name = str(path[-1])
    if path == ("load", "rate_docs_per_s"):
        return "got a rate for a drain or beside a pace, expected none, or `mode: stream` without a pace"
    if path == ("load", name):
        for names, message in _OF_OTHER_LOADS:
            if name in names:
                return message
    choices = fields_at(Profile, path[:-1]).keys() if len(path) > 1 else _TOP_LEVEL
    match = nearest(name, choices) or _elsewhere(name)
    return f"unknown key, {f'did you mean `{match}`?' if match else suggestion(name, choices, 'one of')}"


def _elsewhere(name: str) -> str | None:
    """The dotted key of a name that belongs into another section."""
    for section in Profile.model_fields:
        # Of the two replicas, those of the index are meant.
        if name in fields_at(Profile, (section,)) and not (section == "maintain" and name in SET_BY_DEPLOYMENT):
            return f"{section}.{name}"
    setting = name.removeprefix("index.")
    return f"index.{setting}" if known_settings().releases_of(setting) else None


# --- dataset --------------------------------------------------------------------------------------------------------

_REMEDIES = {"path": "give it as --path FILE"}
_OPTION_TYPES: dict[type, str] = {str: "text", int: "a whole number", float: "a number"}


def _dataset_problems(tree: Located) -> Iterator[Problem]:
    """An unknown dataset, options that it does not have or lacks, and a size that it cannot be given."""
    section = tree.at("dataset")
    name = tree.at("dataset", "name")
    if section is None or name is None:
        return
    dataset = dataset_in(tree)
    if dataset is None:
        yield from unknown_name(name, "dataset.name", "dataset", DATASETS)
        return
    for key in sorted(section.entries.keys() - dataset.keys()):
        remedy = suggestion(key, dataset.keys(), "one of")
        message = f'unknown key of dataset "{dataset.name}", {remedy}'
        yield Problem(section.entries[key].place, f"dataset.{key}", message)
    for key, entry in section.entries.items():
        # The models look after `books`, which is a size as well as an option.
        if key in dataset.options and key not in dataset.counts:
            yield from _option_problems(entry, dataset.options[key])
    for option in dataset.options.values():
        if option.required and option.name not in section.entries:
            remedy = f"; {_REMEDIES[option.name]}" if option.name in _REMEDIES else ""
            message = f"missing, expected {option.meaning}{remedy}"
            yield Problem(name.place, f"dataset.{option.name}", message, is_absence=True)
    yield from _size_problems(section, name, dataset)


def _option_problems(entry: Located, option: Option) -> Iterator[Problem]:
    if type(entry.value) is not option.type and not (option.type is float and type(entry.value) is int):
        message = f"got {shown(entry.plain(), entry)}, expected {_OPTION_TYPES[option.type]}"
        yield Problem(entry.place, f"dataset.{option.name}", message)
    elif option.choices:
        yield from unknown_name(entry, f"dataset.{option.name}", option.name, option.choices)


def _size_problems(section: Located, name: Located, dataset: KnownDataset) -> Iterator[Problem]:
    stated = [count for count in dataset.counts if count in section.entries]
    if len(stated) > 1:
        entry = section.entries[stated[-1]]
        yield Problem(entry.place, f"dataset.{stated[-1]}", f"`{stated[0]}` is given already, expected one of the two")
    if not stated and not dataset.is_bounded:
        counts = " or ".join(f"`{count}`" for count in dataset.counts)
        yield Problem(name.place, "dataset", f"its size is missing, expected {counts}", is_absence=True)


# --- index, sink, load, producer ------------------------------------------------------------------------------------


def _index_problems(tree: Located) -> Iterator[Problem]:
    """Index settings that the profile's engine does not have, and values that no release takes."""
    index = tree.at("index")
    release = _release(tree)
    for name, entry in index.entries.items() if index is not None else ():
        if entry.broken:
            continue
        message = known_settings(release.engine).complaint(name, release.numbers)
        if message is None and (expected := expected_value(name, entry.value)) is not None:
            message = f"got {shown(entry.plain(), entry)}, expected {expected}"
        if message is not None:
            yield Problem(entry.place, f"index.{name}", message)


def _time_series_problems(tree: Located) -> Iterator[Problem]:
    """Ids of ours for an index of time series, which makes each `_id` of a document's dimensions and time."""
    mode, command, pipeline = tree.at("index", "mode"), tree.at("sink", "command"), tree.at("sink", "pipeline")
    if mode is None or mode.value != "time_series" or command is not None or pipeline is not None:
        return
    load, via = tree.at("load", "mode"), tree.at("load", "via")
    settings = [tree.at("sink", "config", name) for name in ("key.ignore", "use.autogenerated.ids")]
    if (load is not None and load.value == "query") or (via is not None and via.value in NOT_KAFKA):
        expected = "a load through the sink, since ready-made bulk requests have ids"
    elif any(setting is None or str(setting.value).lower() != "true" for setting in settings):
        expected = "`sink.config` with `key.ignore: true` and `use.autogenerated.ids: true`"
    else:
        return
    yield Problem(mode.place, "index.mode", f"got time_series, which makes ids itself, expected {expected}")


def _release(tree: Located) -> Release:
    """The release that runs; the default where none is given, or what is given is no version."""
    for engine, entry in reversed(_versions(tree)):
        with contextlib.suppress(ValueError):
            parsed_version(str(entry.value))
            return Release(engine, str(entry.value))
    return DEFAULT


def _versions(tree: Located) -> list[tuple[Engine, Located]]:
    """Each engine whose version is given, with that."""
    return [(engine, entry) for engine in ENGINES if (entry := tree.at(*engine.key)) is not None]


def _useless(tree: Located) -> Iterator[tuple[tuple[str, ...], str]]:
    """Keys that the run sets, or that another choice has no use for, and what to say about each."""
    for path, instead in _SET_BY_THE_RUN.items():
        yield path, f"cannot be set here, expected {instead}"
    if tree.at("sink", "command") is not None:
        for name in OF_A_CONNECTOR:
            yield ("sink", name), "got a setting of connectors, expected none, or no `sink.command`"
    if tree.at("sink", "pipeline") is not None:
        for name in ("connector", "plugin_path", "command"):
            yield ("sink", name), "got a setting of another sink, expected none, or no `sink.pipeline`"
    via, expect = tree.at("load", "via"), tree.at("verify", "expect")
    if via is not None and via.value in NOT_KAFKA:
        load = "a direct load" if via.value == "direct" else "a load through Rally"
        for section in WITHOUT_USE_FOR_DIRECT:
            yield (section,), f"{load} has none, expected no such section (or `via: kafka`)"
        if expect is not None and expect.value == "consumed":
            yield ("verify", "expect"), f"{load} stores everything, expected `stored`"


def _several_indices_problems(tree: Located) -> Iterator[Problem]:
    """What cannot be done with several indices at once."""
    indices = tree.at("indices")
    if indices is None or indices.value == 1:
        return
    mode, via = tree.at("load", "mode"), tree.at("load", "via")
    for is_there, what in (
        (via is not None and via.value == "rally", "Rally's bulk task fills one index"),
        (mode is not None and mode.value == "query", "a load of queries reads one index"),
        (tree.at("sink", "command") is not None, "a `sink.command` fills one index"),
        (tree.at("sink", "pipeline") is not None, "a `sink.pipeline` fills one index"),
        (tree.at("load", "ramp") is not None, "a load with `ramp` fills one index"),
    ):
        if is_there:
            yield Problem(indices.place, "indices", f"got {shown(indices.plain(), indices)}, expected 1: {what}")


def _client_problems(tree: Located) -> Iterator[Problem]:
    """Settings with which no Kafka client can be made; each is one without which the client refuses something else."""
    section = tree.at("producer", "client")
    if section is None:
        return
    settings = {
        name: str(entry.value).lower() if isinstance(entry.value, bool) else str(entry.value)
        for name, entry in section.entries.items()
        if isinstance(entry.value, str | int | float)
        and ("producer", "client", name) not in _SET_BY_THE_RUN
        # How to authenticate, the target says as well.
        and not name.startswith(("sasl.", "ssl.", "security."))
    }
    if not settings:
        return
    # Only here: most profiles say nothing of the client, and this brings it along.
    from producers.produce import client_refusal  # noqa: PLC0415

    while (message := client_refusal(settings)) is not None:
        for name in settings:
            if client_refusal({other: settings[other] for other in settings if other != name}) != message:
                yield Problem(section.entries[name].place, f"producer.client.{name}", message.removeprefix(f"{name}: "))
                del settings[name]
                break
        else:
            yield Problem(section.place, "producer.client", message)
            return


# --- engine and bounds ----------------------------------------------------------------------------------------------


def _engine_problems(tree: Located) -> Iterator[Problem]:
    """Two engines."""
    given = _versions(tree)
    for engine, entry in given[1:]:
        message = f"`{given[0][0].dotted_key}` is given already, expected one of the two"
        yield Problem(entry.place, engine.dotted_key, message)


def _bound_problems(tree: Located) -> Iterator[Problem]:
    """Bounds of servers that nothing is asked of, and a limit of memory that the heap alone would fill."""
    limit, heap = tree.at("elasticsearch", "memory_limit_mb"), tree.at("elasticsearch", "heap_mb")
    heap_mb = heap.value if heap is not None else Elasticsearch().heap_mb
    if limit is not None and type(limit.value) is int and type(heap_mb) is int and 0 < limit.value <= heap_mb:
        message = f"got {limit.value}, expected more than `elasticsearch.heap_mb`, which is {heap_mb}"
        yield Problem(limit.place, "elasticsearch.memory_limit_mb", message)
    if limit is not None and (cache := tree.at("elasticsearch", "page_cache_mb")) is not None:
        message = "`memory_limit_mb` is given already, expected one of the two"
        yield Problem(cache.place, "elasticsearch.page_cache_mb", message)
    for name in BOUNDS:
        entry = tree.at("elasticsearch", name)
        mode = tree.at("load", "mode")
        if entry is not None and entry.value is not None and (mode is None or mode.value != "query"):
            message = "got a bound for query-only loads, expected none, or `load.mode: query`"
            yield Problem(entry.place, f"elasticsearch.{name}", message)
