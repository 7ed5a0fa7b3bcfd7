"""What can be wrong with a load of queries alone: how its index came to its codec, and what it has no use for."""

from collections.abc import Iterator

from lab.profiles.index_settings import expected_value
from lab.profiles.layers import WITHOUT_USE_FOR_DIRECT
from lab.profiles.located import Located
from lab.profiles.problems import Problem
from lab.profiles.yaml_model import shown


def layout_problems(tree: Located) -> Iterator[Problem]:
    """Every problem of a profile whose mode is `query`; none of any other."""
    mode = tree.at("load", "mode")
    if mode is None or mode.value != "query":
        return
    yield from _route_problems(tree, mode)
    for section in WITHOUT_USE_FOR_DIRECT:
        if (entry := tree.at(section)) is not None:
            yield Problem(entry.place, section, "a load of queries has none, expected no such section")
    expect, updates = tree.at("verify", "expect"), tree.at("dataset", "updates")
    if expect is not None and expect.value == "consumed":
        yield Problem(expect.place, "verify.expect", "queries need stored documents, expected `stored`")
    if updates is not None and updates.value not in (0, 0.0):
        message = f"got {shown(updates.plain(), updates)}, expected 0: a kept index holds each document once"
        yield Problem(updates.place, "dataset.updates", message)


def _route_problems(tree: Located, mode: Located) -> Iterator[Problem]:
    """A route without the codec that it begins with, and such a codec without a route that uses it."""
    route, before = tree.at("load", "route"), tree.at("load", "codec_before")
    changes_codec = route is not None and route.value in ("reindexed", "rewritten")
    if before is None:
        if changes_codec:
            message = "missing, expected index.codec before the index was reindexed or rewritten"
            yield Problem((route or mode).place, "load.codec_before", message, is_absence=True)
        return
    if not changes_codec:
        message = "only for `route: reindexed` or `route: rewritten`; remove it"
        yield Problem(before.place, "load.codec_before", message)
    elif (expected := expected_value("codec", before.value)) is not None:
        message = f"got {shown(before.plain(), before)}, expected {expected}"
        yield Problem(before.place, "load.codec_before", message)
