"""What can be wrong with the section `maintain` of a profile."""

from collections.abc import Collection, Iterator

from lab.profiles.located import Located
from lab.profiles.models import Maintain, Profile
from lab.profiles.problems import Place, Problem, suggestion

DEFAULT_INDEX_NODE = str(Maintain.model_fields["index_node"].default)
SET_BY_DEPLOYMENT = {
    "number_of_replicas": "`maintain.number_of_replicas`: the indices are loaded without replicas",
    "routing.allocation.include._name": "`maintain.index_node`, `maintain.to`",
    "routing.allocation.exclude._name": "`maintain.index_node`, `maintain.to`",
}


def maintain_problems(tree: Located) -> Iterator[Problem]:
    """A deployment that has nothing to move, that goes where it began, and queries without an end or a question."""
    section = tree.at("maintain")
    if section is None:
        return
    mode, expect = tree.at("load", "mode"), tree.at("verify", "expect")
    if mode is not None and mode.value == "query":
        message = "a load of queries fills no index, expected no such section (or another `load.mode`)"
        yield Problem(section.place, "maintain", message)
    if expect is not None and expect.value == "consumed":
        yield Problem(section.place, "maintain", "nothing is stored to be moved, expected `verify.expect: stored`")
    for name, instead in SET_BY_DEPLOYMENT.items():
        entry = tree.at("index", name)
        if entry is not None and not (name == "number_of_replicas" and entry.value in (0, "0")):
            message = f"a run that deploys sets it, expected none (or {instead})"
            yield Problem(entry.place, f"index.{name}", message)
    yield from _node_problems(tree)
    yield from _query_problems(tree, section)


def _node_problems(tree: Located) -> Iterator[Problem]:
    stated, to = tree.at("maintain", "index_node"), tree.at("maintain", "to")
    index_node = stated.value if stated is not None else DEFAULT_INDEX_NODE
    names = to.value if to is not None and isinstance(to.value, list) else []
    for entry in names:
        if entry.value == index_node:
            message = f'got "{index_node}", expected other nodes than `maintain.index_node`'
            yield Problem(entry.place, "maintain.to", message)
    texts = [entry.value for entry in names]
    for name in sorted({str(text) for text in texts if texts.count(text) > 1}):
        yield Problem(tree.place_of("maintain", "to"), "maintain.to", f'"{name}" is listed twice, expected once')


def _query_problems(tree: Located, section: Located) -> Iterator[Problem]:
    queries, of = section.at("queries"), "maintain.queries"
    if queries is None:
        return
    if tree.at("load", "queries") is not None:
        yield Problem(queries.place, of, "`load.queries` sends queries already, expected one of the two")
    if tree.at("queries", "questions") is None:
        yield Problem(queries.place, of, "has no question to send, expected `queries.questions`", is_absence=True)
    if queries.at("duration_s") is None:
        message = "has no end before the deployment, expected `duration_s`"
        yield Problem(queries.place, of, message, is_absence=True)
    if (requests := queries.at("requests")) is not None:
        yield Problem(requests.place, f"{of}.requests", "queries are sent for a time, expected `duration_s`")
    if queries.at("rate_per_s") is not None and (think := queries.at("think_time_s")) is not None:
        message = "got a think time beside `rate_per_s` (open loop), expected one of the two"
        yield Problem(think.place, f"{of}.think_time_s", message)


def refusal_of(profile: Profile, names: Collection[str]) -> str | None:
    """Why a profile cannot be deployed among data nodes of these names; `None` if it can."""
    section = profile.maintain
    if section is None:
        return None
    for key, stated in (("index_node", [section.index_node]), ("to", section.to or [])):
        for name in stated:
            if name not in names:
                remedy = suggestion(name, names, "one of the data nodes")
                return line_of(profile, key, f'no data node is called "{name}", {remedy}')
    to = section.to or [name for name in names if name != section.index_node]
    if not to:
        message = f"{section.index_node} is the only data node, expected others (`elasticsearch.data_nodes`)"
        return line_of(profile, "to", message)
    copies = 1 + section.number_of_replicas
    if len(to) < copies:
        message = (
            f"got {section.number_of_replicas}, expected at most {len(to) - 1}: no node holds two copies of a shard"
        )
        return line_of(profile, "number_of_replicas", f"{message}, and there are {len(to)} to go to")
    return None


def line_of(profile: Profile, key: str, message: str) -> str:
    """One line of a refusal: where a key of the section stands, and what is wrong with it."""
    dotted = f"maintain.{key}"
    where = profile.where.get(dotted) or profile.where.get("maintain.action", profile.name)
    return str(Problem(Place.of_key(where, dotted), dotted, message))
