"""Everything that can be wrong with a merged profile, found in one pass and told in the words of its author."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from lab.profiles.dataset_checks import dataset_problems
from lab.profiles.index_settings import KnownSettings, expected_value, known_settings, parsed_version
from lab.profiles.layers import OF_A_CONNECTOR, WITHOUT_USE_FOR_DIRECT
from lab.profiles.located import Located
from lab.profiles.model_problems import located
from lab.profiles.models import (
    Dataset,
    Direct,
    Drain,
    Elasticsearch,
    Producer,
    Profile,
    Queries,
    Sampling,
    Sink,
    Stream,
    Topic,
    Verify,
)
from lab.profiles.problems import Place, Problem, nearest, suggestion
from lab.profiles.query_checks import query_problems
from lab.profiles.wording import expected, shown, unknown_name

_SECTIONS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "dataset": (Dataset,),
    "topic": (Topic,),
    "producer": (Producer,),
    "sink": (Sink,),
    "elasticsearch": (Elasticsearch,),
    "load": (Drain, Stream, Direct),
    "verify": (Verify,),
    "queries": (Queries,),
    "sampling": (Sampling,),
}
_MADE_BY_THE_LOADER = frozenset({"name", "where"})
_TOP_LEVEL = (frozenset(Profile.model_fields) - _MADE_BY_THE_LOADER) | {"extends"}
_CLIENT_SETTINGS = (("topic", "config"), ("producer", "client"), ("sink", "config"))
_SET_BY_THE_RUN: Mapping[tuple[str, ...], str] = {
    ("sink", "config", "tasks.max"): "`sink.tasks`",
    ("sink", "config", "name"): "nothing: the run names its connector",
    ("sink", "config", "topics"): "nothing: the run names its topic",
    ("sink", "config", "connection.url"): "nothing: the run knows its cluster",
    ("sink", "config", "index.name"): "nothing: the run names its index",
    ("sink", "config", "errors.deadletterqueue.topic.name"): "nothing: the run names its dead-letter topic",
    ("producer", "client", "bootstrap.servers"): "nothing: the run knows its brokers",
    **{
        ("elasticsearch", "node_settings", name): "nothing: the run makes its nodes and knows where they are"
        for name in (
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


def fields_of(section: str) -> frozenset[str]:
    """Names that a section may hold; for `dataset` without the options of the dataset itself."""
    return frozenset(name for model in _SECTIONS[section] for name in model.model_fields)


# --- types and names, as the models have them -----------------------------------------------------------------------


def validated(values: dict[str, Any], tree: Located) -> tuple[Profile | None, list[Problem]]:
    """The profile that `values` make, or why they make none.

    Args:
        values: What the models are given.
        tree: The same values with their places.
    """
    try:
        return TypeAdapter(Profile).validate_python(values), []
    except ValidationError as error:
        found = error.errors(include_url=False)
        return None, [_model_problem(details, tree) for details in found if not _is_client_setting(details["loc"])]


def _is_client_setting(location: tuple[int | str, ...]) -> bool:
    """Whether `verbatim_problems` looks after a value; the models would report it once for each type it might have."""
    return len(location) > 2 and location[:2] in _CLIENT_SETTINGS


def _model_problem(details: ErrorDetails, tree: Located) -> Problem:
    path = _path(details["loc"])
    if details["type"] == "union_tag_invalid":
        path = (*path, "mode")
    missing = details["type"] == "missing"
    entry, place = located(tree, path)
    if missing:
        place = _deciding_place(tree, path[:-1])
    return Problem(place, ".".join(path), _model_message(details, path, entry), is_absence=missing)


def _deciding_place(tree: Located, section: tuple[str, ...]) -> Place:
    """Where the choice stands that makes a key of this section needed."""
    choices = (tree.at(*section, "mode"), tree.at(*section, "name"), tree.at(*section))
    return next((choice.place for choice in choices if choice is not None), tree.place)


def _path(location: tuple[int | str, ...]) -> tuple[str, ...]:
    """Names of the author's; pydantic puts the kind of a load behind `load`."""
    if location[:1] == ("load",) and location[1:2] in {("drain",), ("stream",), ("direct",)}:
        location = location[:1] + location[2:]
    return tuple(map(str, location))


def _model_message(details: ErrorDetails, path: tuple[str, ...], entry: Located | None) -> str:
    kind = details["type"]
    if kind == "missing":
        return f"missing, expected {_description(path)}"
    if kind == "extra_forbidden":
        return _unknown_key(path)
    got = details["input"] if entry is None else entry.plain()
    return f"got {shown(got, entry)}, expected {expected(details)}"


def _description(path: tuple[str, ...]) -> str:
    model: type[BaseModel] = Profile
    if path[0] in _SECTIONS and len(path) > 1:
        model = next(model for model in _SECTIONS[path[0]] if path[1] in model.model_fields)
    described = model.model_fields[path[-1]].description
    return f"a section with {_required_names(path[0])}" if described is None else _lower_first(described)


def _required_names(section: str) -> str:
    names = [name for name, field in _SECTIONS[section][0].model_fields.items() if field.is_required()]
    return " and ".join(f"`{name}`" for name in names)


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


def _unknown_key(path: tuple[str, ...]) -> str:
    if path == ("load", "rate_docs_per_s"):
        return "a drain has no rate, expected none (or `mode: stream`)"
    if path[0] == "load" and path[-1] in Direct.model_fields:
        return "only a direct load has it, expected none (or `via: direct`)"
    known = fields_of(path[0]) if len(path) > 1 else _TOP_LEVEL
    match = nearest(path[-1], known) or _elsewhere(path[-1])
    return f"unknown key, {f'did you mean `{match}`?' if match else suggestion(path[-1], known, 'one of')}"


def _elsewhere(name: str) -> str | None:
    """The dotted key of a name that belongs into another section."""
    for section in _SECTIONS:
        if name in fields_of(section):
            return f"{section}.{name}"
    return f"index.{name.removeprefix('index.')}" if known_settings().entry(name.removeprefix("index.")) else None


# --- names that others gave -----------------------------------------------------------------------------------------


def stored_names(folder: Path) -> frozenset[str]:
    """Names of the JSON files of a folder."""
    return frozenset(path.stem for path in folder.glob("*.json"))


def index_problems(tree: Located, settings: KnownSettings) -> Iterator[Problem]:
    """Index settings that the profile's Elasticsearch does not have."""
    index = tree.at("index")
    for name, entry in index.entries.items() if index is not None else ():
        complaint = settings.complaint(name, _version(tree))
        if complaint is not None and not entry.broken:
            yield Problem(entry.place, f"index.{name}", complaint)
        elif not entry.broken and (wanted := expected_value(name, entry.plain())) is not None:
            yield Problem(entry.place, f"index.{name}", f"got {shown(entry.plain(), entry)}, expected {wanted}")
    for name, least in (("number_of_shards", 1), ("number_of_replicas", 0)):
        count = tree.at("index", name)
        if count is None or count.broken:
            continue
        if not isinstance(count.value, int) or isinstance(count.value, bool) or count.value < least:
            got = shown(count.plain(), count)
            yield Problem(count.place, f"index.{name}", f"got {got}, expected a whole number from {least} on")


def _version(tree: Located) -> tuple[int, ...]:
    entry = tree.at("elasticsearch", "version")
    default = Elasticsearch().version
    try:
        return parsed_version(str(entry.value) if entry is not None else default)
    except ValueError:
        return parsed_version(default)


def sink_problems(tree: Located) -> Iterator[Problem]:
    """Settings of a connector beside a command that takes its place."""
    if tree.at("sink", "command") is None:
        return
    for name in OF_A_CONNECTOR:
        entry = tree.at("sink", name)
        if entry is not None:
            yield Problem(entry.place, f"sink.{name}", "a command has none, expected none (or no `sink.command`)")


def load_problems(tree: Located) -> Iterator[Problem]:
    """Sections that a direct load, which knows no Kafka and no sink, has no use for."""
    via = tree.at("load", "via")
    if via is None or via.value != "direct":
        return
    for section in WITHOUT_USE_FOR_DIRECT:
        entry = tree.at(section)
        if entry is not None:
            yield Problem(entry.place, section, "a direct load has none, expected no such section (or `via: kafka`)")
    expect = tree.at("verify", "expect")
    if expect is not None and expect.value == "consumed":
        yield Problem(expect.place, "verify.expect", "a direct load stores everything, expected `stored`")


def verbatim_problems(tree: Located) -> Iterator[Problem]:
    """Settings of clients that are no scalars, and settings that a profile would only contradict the run with."""
    for section in _CLIENT_SETTINGS:
        settings = tree.at(*section)
        for name, setting in settings.entries.items() if settings is not None else ():
            if isinstance(setting.value, list):
                message = "got a list, expected text, a number, true or false"
                yield Problem(setting.place, ".".join((*section, name)), message)
    for path, instead in _SET_BY_THE_RUN.items():
        entry = tree.at(*path)
        if entry is not None:
            yield Problem(entry.place, ".".join(path), f"cannot be set here, expected {instead}")


def _without(settings: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: value for other, value in settings.items() if other != name}


def client_problems(tree: Located) -> Iterator[Problem]:
    """Settings of the producers with which no Kafka client can be made; each is the one without which another is."""
    section = tree.at("producer", "client")
    set_here = section.entries.items() if section is not None else ()
    given = {
        name: str(entry.value).lower() if isinstance(entry.value, bool) else str(entry.value)
        for name, entry in set_here
        if isinstance(entry.value, str | int | float) and ("producer", "client", name) not in _SET_BY_THE_RUN
    }
    if section is None or not given:
        return
    # Only here: most profiles say nothing of the client, and this brings it along.
    from producers.produce import client_refusal  # noqa: PLC0415

    while (message := client_refusal(given)) is not None:
        culprit = next((name for name in given if client_refusal(_without(given, name)) != message), None)
        entry = section.entries.get(culprit or "", section)
        yield Problem(
            entry.place, ".".join(filter(None, ("producer.client", culprit))), message.removeprefix(f"{culprit}: ")
        )
        if culprit is None:
            return
        del given[culprit]


# --- all of it ------------------------------------------------------------------------------------------------------


def problems_of(tree: Located, root: Path) -> Iterator[Problem]:
    """What the models cannot see."""
    for name in sorted(tree.entries.keys() & _MADE_BY_THE_LOADER):
        yield Problem(tree.entries[name].place, name, _unknown_key((name,)))
    yield from dataset_problems(tree)
    yield from index_problems(tree, known_settings())
    yield from load_problems(tree)
    yield from sink_problems(tree)
    yield from verbatim_problems(tree)
    yield from client_problems(tree)
    yield from query_problems(tree, root)
    for key, what, folder in (
        (("mapping",), "mapping", root / "mappings"),
        (("sink", "connector"), "connector template", root / "connect" / "connectors"),
    ):
        entry = tree.at(*key)
        if entry is not None and (names := stored_names(folder)):
            yield from unknown_name(entry, ".".join(key), what, names)


def not_consequences(problems: list[Problem], tree: Located) -> list[Problem]:
    """The problems that are not due to a value whose notation is a problem already."""
    broken: set[Place] = {entry.place for _, entry in tree.leaves() if entry.broken}
    return [problem for problem in problems if problem.place not in broken]
