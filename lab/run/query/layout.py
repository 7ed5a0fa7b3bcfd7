"""The index of queries alone: made and verified once for each layout, and kept for all runs that read the same."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import ValidationError

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import topics_of
from lab.errors import ProfileError
from lab.profiles import Profile, QueryOnly
from lab.records.base import Count, Record
from lab.records.run import Layout
from lab.records.verification import Documents, Verification
from lab.run.names import KEPT, SET_IN_PLACE, is_kept, layout_fingerprint
from lab.run.phases import RunContext, wait_for_merges
from lab.run.prepare import started_shards
from lab.run.query.routes import ROUTES, codec_problems
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.verify import VerificationTarget, verify
from producers.dataset import Dataset

MOST_KEPT: Final = 4
"""Indices that single runs keep on servers that stay; those of a suite under way are not counted."""

LAYOUT: Final = "layout"
"""What the mark of a kept index has, besides its run, once it is whole."""


class KeptIndex(Record):
    """What is written into the mapping of a kept index last, and tells it from one that was left half-made.

    Attributes:
        uuid: That of the index itself: one that was made anew is another.
        operations: Writes that its shards had seen.
    """

    uuid: str
    operations: Count
    layout: Layout
    documents: Documents
    verification: Verification


def have_layout(
    run: RunContext, cluster: ElasticsearchClient, try_out: Callable[[], None]
) -> tuple[Layout, Documents, Verification]:
    """Have the index of the run's layout open and its caches empty: found whole, or made.

    Args:
        try_out: Asks the run's questions of the index once it is there, before any document is.

    Returns:
        How it was made, and what verification found then. One that is not verified is not kept.

    Raises:
        ProfileError: Elasticsearch refuses a setting, the mapping or a question.
        StackError: Elasticsearch does not answer, or refuses documents.
    """
    run.progress.begin("fill", "looking for a kept index", None)
    refuse_others(run, cluster)
    fingerprint = str(layout_fingerprint(run.profile, run.dataset, run.root))
    kept = matching_index(run, cluster, fingerprint)
    if kept is None:
        # Another user may have begun to make it meanwhile.
        refuse_others(run, cluster)
        kept = made(run, cluster, fingerprint, try_out)
    else:
        try_out()
    cluster.clear_caches(run.names.index)
    return kept.layout, kept.documents, kept.verification


def refuse_others(run: RunContext, cluster: ElasticsearchClient) -> None:
    """Raise ProfileError if the index on servers of others is of another command: it may be making or reading it.

    To read it together would empty its caches in the midst of a measurement.
    """
    if run.target.name != "remote":
        return
    owner = cluster.index_owner(run.names.index)
    if owner is not None and owner not in run.target.run_ids:
        maker = f"run {owner}" if owner else "no run"
        raise ProfileError(
            f"index {run.names.index}: exists, made by {maker}, expected none; another user works with it, or a run was"
            " killed: wait for it, or delete the index"
        )


def refuse_updates(profile: Profile, dataset: Dataset) -> None:
    """Refuse a dataset of which a kept index would hold deleted documents.

    Raises:
        ProfileError: The profile reads a kept index, and several documents share a key.
    """
    if not profile.load.fills_index and (again := dataset.documents - len(dataset.latest())):
        place = profile.where.get("dataset.name", profile.name)
        raise ProfileError(
            f"{place}: dataset: got {again:,} documents that replace an earlier one of their key, expected none, as a "
            "kept index holds each document once"
        )


def whole_indices(cluster: ElasticsearchClient) -> dict[str, KeptIndex | None]:
    """All kept indices, open or closed, by name; `None` for those that were left half-made."""
    return {index: kept_by(mark) for index, mark in cluster.marks(f"{KEPT}*").items() if is_kept(index)}


def kept_by(mark: Mapping[str, object]) -> KeptIndex | None:
    """What the mark of an index says of it; `None` for one that is not whole, or of another version of Sluice."""
    try:
        return KeptIndex.model_validate(mark.get(LAYOUT))
    except ValidationError:
        return None


def put_away(run: RunContext, cluster: ElasticsearchClient) -> None:
    """Close the kept indices that the run does not read; remove those that are half-made, and all but the newest."""
    indices = {name: kept for name, kept in whole_indices(cluster).items() if name != run.names.index}
    whole = {name: kept.layout.made_by for name, kept in indices.items() if kept}
    others = sorted(whole.keys() - run.target.kept, key=whole.__getitem__, reverse=True)
    of_this_run = 1 if is_kept(run.names.index) else 0
    stay = (run.target.kept & whole.keys()) | set(others[: MOST_KEPT - of_this_run])
    for index in indices:
        if index in stay:
            cluster.close_index(index)
        else:
            cluster.delete_index(index)


def matching_index(run: RunContext, cluster: ElasticsearchClient, fingerprint: str) -> KeptIndex | None:
    """The index of the run's layout, opened, if it is whole and as it was when it was verified."""
    index = run.names.index
    kept = whole_indices(cluster).get(index)
    if kept is None or kept.layout.fingerprint != fingerprint:
        return None
    cluster.open_index(index)
    try:
        started_shards(cluster, run.profile, index)
    except ProfileError:
        # A primary shard is lost, as with the node that held it.
        run.progress.begin("fill", "a shard of the kept index is missing: rebuilding it", None)
        return None
    state = (cluster.index_settings(index)["index.uuid"], cluster.operations(index), cluster.count(index))
    if state != (kept.uuid, kept.operations, kept.documents.indexed):
        return None
    cluster.put_settings(index, {f"index.{name}": run.profile.index.get(name) for name in SET_IN_PLACE})
    return kept


def made(run: RunContext, cluster: ElasticsearchClient, fingerprint: str, try_out: Callable[[], None]) -> KeptIndex:
    """Make the index of the run's layout, verify it, and write down that it is whole if it is."""
    load, index = run.profile.load, run.names.index
    assert isinstance(load, QueryOnly)  # noqa: S101 - no other load keeps an index
    started_s = time.monotonic()
    problems = ROUTES[load.route](run, cluster, load, try_out)
    run.progress.begin("fill", "waiting for merges", None)
    # Merges that were left would go on while queries are sent.
    wait_for_merges(run, cluster, index, load.timeout_s)
    codecs = Counter(cluster.segments(index).values())
    documents, verification = verified(run, cluster, (*problems, *codec_problems(run.profile, codecs)))
    kept = KeptIndex(
        uuid=str(cluster.index_settings(index)["index.uuid"]),
        operations=cluster.operations(index),
        layout=Layout(
            fingerprint=fingerprint,
            made_by=run.folder.run_id,
            made_in_s=time.monotonic() - started_s,
            route=load.route,
            codecs=dict(codecs),
            segments=codecs.total(),
        ),
        documents=documents,
        verification=verification,
    )
    if verification.verified:
        # A shard that moves while queries are sent would be their rival, and its files are read anew elsewhere.
        cluster.put_settings(index, {"index.routing.rebalance.enable": "none"})
        cluster.mark(index, {"run": run.folder.run_id, LAYOUT: kept.model_dump(mode="json")})
    return kept


def verified(
    run: RunContext, cluster: ElasticsearchClient, problems: tuple[str, ...]
) -> tuple[Documents, Verification]:
    """Compare what is stored with the dataset, id by id.

    Args:
        problems: Those that were seen before, a sentence each.
    """
    run.progress.begin("fill", "reading every id back", run.dataset.documents)
    target = VerificationTarget(
        dataset=run.dataset,
        names=run.names,
        records=DeliveredRecords(run.dataset.documents),
        key_is_id=True,
        sample=run.profile.verify.sample,
        seed=run.folder.run_id,
        refusals=problems,
    )
    return verify(target, topics_of(run.target.endpoints), cluster, run.progress.update)
