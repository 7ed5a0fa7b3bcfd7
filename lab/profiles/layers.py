"""How the layers of a profile (what it extends, its file, the command line) become one.

Nearer wins: mappings are merged, everything else is replaced, `null` takes back what is inherited. A choice that makes
an inherited value meaningless takes that value with it:

- `documents` replaces inherited `books`, and the other way round;
- another dataset drops the inherited options that it does not have, and the inherited mapping;
- another mapping drops the inherited `disabled_fields`, as everything does that drops the mapping;
- another model of the same dataset drops the inherited mapping;
- `load.mode: drain` drops an inherited rate or pace, and each of the two drops the other one; another mode or
  `load.via` drops what only a drain has;
- `load.via: direct` or `rally` drops the inherited mode and rate, and the sections `topic`, `producer` and `sink`;
- `load.via` drops what only loads of another way have;
- `load.mode: query` drops the inherited rate, `via` with what only a load of that way has, and the same sections;
- `load.mode: drain` or `stream` drops what only a load of queries has;
- the version of an engine (`opensearch`) drops that of another one (`elasticsearch.version`);
- `sink.command` or `sink.pipeline` drops an inherited connector with its settings, and the other one of the two;
  `sink.connector` drops both.
"""

from collections.abc import Iterator
from dataclasses import replace

from lab.engines import ENGINES
from lab.profiles.datasets import dataset_in
from lab.profiles.located import Located
from lab.profiles.models import NOT_KAFKA, Direct, Drain, QueryOnly, Rally, keys_only_of
from lab.profiles.problems import Problem

VERBATIM_SECTIONS: tuple[tuple[str, ...], ...] = (
    ("index",),
    ("elasticsearch", "cluster_settings"),
    ("elasticsearch", "node_settings"),
    ("topic", "config"),
    ("producer", "client"),
    ("sink", "config"),
)
"""Sections of settings that other systems named: dotted names, however deep their author nested them."""

ONLY_QUERIES = keys_only_of(QueryOnly)
"""What a load has that reads a kept index, and no other."""

ONLY_DRAINS = keys_only_of(Drain)
"""What a drain through Kafka has, and no other load."""

_ONLY_VIA = {"kafka": (), "direct": keys_only_of(Direct), "rally": keys_only_of(Rally)}
"""Way of a load → what no load of another way has."""

OF_A_CONNECTOR = ("connector", "tasks", "config", "plugin_path")
"""What the section `sink` says of a connector, and not of a command."""

INSTEAD_OF_A_CONNECTOR = ("command", "pipeline")
"""What the section `sink` names in place of a connector."""

WITHOUT_USE_FOR_DIRECT = ("topic", "producer", "sink")
"""Sections that say nothing to a load that knows no Kafka."""


def flattened(tree: Located) -> tuple[Located, list[Problem]]:
    """`tree` with dotted names in its verbatim sections, and the names that turn out to be given twice."""
    problems: list[Problem] = []
    for path in VERBATIM_SECTIONS:
        section = tree.at(*path)
        if section is None or not isinstance(section.value, dict):
            continue
        names: dict[str, Located] = {}
        for name, entry in section.leaves():
            short = name.removeprefix("index.") if path == ("index",) else name
            if short in names:
                message = f"duplicate key: first on line {names[short].place.line}, expected it once"
                problems.append(Problem(entry.place, ".".join((*path, short)), message))
            names[short] = entry
        tree = with_entry(tree, path, replace(section, value=names))
    return tree, problems


def with_entry(tree: Located, path: tuple[str, ...], entry: Located) -> Located:
    """`tree` with `entry` under `path`; mappings on the way are made, at the place of `entry`, where there are none."""
    if not path:
        return entry
    below = tree.entries.get(path[0], Located({}, entry.place))
    return replace(tree, value=tree.entries | {path[0]: with_entry(below, path[1:], entry)})


def without(tree: Located, *path: str) -> Located:
    """`tree` without the entry under `path`."""
    parent = tree.at(*path[:-1])
    if parent is None or path[-1] not in parent.entries:
        return tree
    kept = {name: entry for name, entry in parent.entries.items() if name != path[-1]}
    return with_entry(tree, path[:-1], replace(parent, value=kept))


def merged(farther: Located, nearer: Located) -> Located:
    """Both layers as one; see the rules above."""
    for path in list(_superseded(farther, nearer)):
        farther = without(farther, *path)
    return overlaid(farther, nearer)


def overlaid(farther: Located, nearer: Located) -> Located:
    """Both, entry by entry; the nearer one wins where they meet."""
    if not (isinstance(farther.value, dict) and isinstance(nearer.value, dict)):
        return nearer
    entries = dict(farther.value)
    for name, entry in nearer.value.items():
        entries[name] = overlaid(entries[name], entry) if name in entries else entry
    # A section that the command line only adds to still stands in its file.
    return replace(nearer if nearer.place.line else farther, value=entries)


def _superseded(farther: Located, nearer: Located) -> Iterator[tuple[str, ...]]:
    """Paths of what the choices of the nearer layer make meaningless in the farther one."""
    if nearer.at("dataset", "documents") or nearer.at("dataset", "books"):
        yield from (("dataset", "documents"), ("dataset", "books"))
    mode, via = _stated(nearer, "load", "mode"), _stated(nearer, "load", "via")
    if mode in ("drain", "query") or via in NOT_KAFKA or nearer.at("load", "rate_docs_per_s"):
        yield ("load", "pace")
    if mode == "drain" or via in NOT_KAFKA or nearer.at("load", "pace"):
        yield ("load", "rate_docs_per_s")
    if mode in ("stream", "query") or via in NOT_KAFKA:
        yield from (("load", name) for name in ONLY_DRAINS)
    if via in NOT_KAFKA:
        yield from (("load", "mode"), *((section,) for section in WITHOUT_USE_FOR_DIRECT))
    if mode == "query":
        yield from (("load", name) for name in ("rate_docs_per_s", "via", *_only_of_others(None)))
        yield from ((section,) for section in WITHOUT_USE_FOR_DIRECT)
    if mode in ("drain", "stream"):
        yield from (("load", name) for name in ONLY_QUERIES)
    if via in _ONLY_VIA:
        yield from (("load", name) for name in _only_of_others(via))
    if nearer.at("mapping"):
        yield ("disabled_fields",)
    yield from _superseded_by_sink(nearer)
    yield from _superseded_by_engine(nearer)
    yield from _superseded_by_dataset(farther, nearer)


def _only_of_others(via: str | None) -> Iterator[str]:
    return (name for other, names in _ONLY_VIA.items() if other != via for name in names)


def _superseded_by_sink(nearer: Located) -> Iterator[tuple[str, ...]]:
    for chosen in INSTEAD_OF_A_CONNECTOR:
        if nearer.at("sink", chosen):
            yield from (("sink", name) for name in (*OF_A_CONNECTOR, *INSTEAD_OF_A_CONNECTOR) if name != chosen)
    if nearer.at("sink", "connector"):
        yield from (("sink", name) for name in INSTEAD_OF_A_CONNECTOR)


def _superseded_by_engine(nearer: Located) -> Iterator[tuple[str, ...]]:
    for engine in ENGINES:
        if (entry := nearer.at(*engine.key)) is not None and entry.value is not None:
            yield from (other.key for other in ENGINES if other is not engine)


def _superseded_by_dataset(farther: Located, nearer: Located) -> Iterator[tuple[str, ...]]:
    before, now = _stated(farther, "dataset", "name"), _stated(nearer, "dataset", "name")
    if before is not None and now is not None and before != now:
        section, dataset = farther.at("dataset"), dataset_in(nearer)
        if section is not None and dataset is not None:
            yield from (("dataset", name) for name in section.entries.keys() - dataset.inheritable_keys())
        yield from (("mapping",), ("disabled_fields",))
        return
    dataset, model = dataset_in(farther), _stated(nearer, "dataset", "model")
    inherited = dataset.model_in(farther) if dataset else _stated(farther, "dataset", "model")
    if model is not None and model != inherited:
        yield from (("mapping",), ("disabled_fields",))


def _stated(tree: Located, *path: str) -> str | None:
    entry = tree.at(*path)
    return str(entry.value) if entry is not None else None


def without_nulls(tree: Located) -> Located:
    """`tree` without the entries that are null on purpose."""
    if not isinstance(tree.value, dict):
        return tree
    kept = {name: without_nulls(entry) for name, entry in tree.value.items() if entry.value is not None or entry.broken}
    return replace(tree, value=kept)
