"""How the documents of a kept index come to its codec: loaded with it, reindexed by a client, or rewritten in place.

`_reindex` is a module that not every Elasticsearch has; reading and writing is what it does, too.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from itertools import islice
from typing import Final, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from lab.clients.elasticsearch import ElasticsearchClient
from lab.monitor import Sampler, Sources
from lab.profiles import Direct, Profile, QueryOnly
from lab.run.load.bodies import operation
from lab.run.load.direct import ready_sender, refusals, send_bodies
from lab.run.names import STAGING
from lab.run.phases import RunContext, wait_for_merges
from lab.run.prepare import create_index, started_shards
from producers.dataset import Dataset

REINDEXED_AT_ONCE: Final = 1000
"""Documents of one page, as of `_reindex`."""

MODES: Final = {
    "default": "BEST_SPEED",
    "lucene_default": "BEST_SPEED",
    "legacy_default": "BEST_SPEED",
    "best_compression": "BEST_COMPRESSION",
    "legacy_best_compression": "BEST_COMPRESSION",
    "lz4": "BEST_SPEED",
    "zlib": "BEST_COMPRESSION",
}
"""index.codec → mode of the stored fields, as `_segments` of 7.17 to 9.5 shows it, and of OpenSearch 2.19 and 3.0."""

Route = Callable[[RunContext, ElasticsearchClient, QueryOnly, Callable[[], None]], tuple[str, ...]]
"""Makes the run's index, has the questions tried out while it is empty, and fills it; problems, a sentence each."""


def loaded(
    run: RunContext, cluster: ElasticsearchClient, load: QueryOnly, try_out: Callable[[], None]
) -> tuple[str, ...]:
    """Index the documents with the index settings that they are to have."""
    index = run.names.index
    create(run, cluster, index)
    try_out()
    problems = fill(run, index, load)
    merge(run, cluster, load.segments, load)
    return problems


def reindexed(
    run: RunContext, cluster: ElasticsearchClient, load: QueryOnly, try_out: Callable[[], None]
) -> tuple[str, ...]:
    """Index the documents into another index, then read them from there and index them again."""
    index = run.names.index
    staging = f"{index}{STAGING}"
    create(run, cluster, index)
    try_out()
    create(run, cluster, staging, load.codec_before)
    problems = fill(run, staging, load)
    cluster.refresh(staging)
    copy(run, cluster, staging, index)
    cluster.delete_index(staging)
    merge(run, cluster, load.segments, load)
    return problems


def rewritten(
    run: RunContext, cluster: ElasticsearchClient, load: QueryOnly, try_out: Callable[[], None]
) -> tuple[str, ...]:
    """Index the documents, change the codec of the closed index, and force-merge it.

    Without a touched document a force-merge leaves a shard alone that has no more segments than it is to have, and
    answers 200 all the same.
    """
    index = run.names.index
    create(run, cluster, index, load.codec_before)
    try_out()
    problems = fill(run, index, load)
    wait_for_merges(run, cluster, index)
    run.progress.begin("fill", "changing the codec", None)
    cluster.close_index(index)
    cluster.put_settings(index, {"index.codec": run.profile.index.get("codec")})
    cluster.open_index(index)
    started_shards(cluster, run.profile, index)
    before = cluster.segments(index)
    touch(run, cluster, index)
    merge(run, cluster, load.segments or 1, load)
    left = before.keys() & cluster.segments(index).keys()
    if left:
        problems = (*problems, f"{len(left)} of {len(before)} segments were not rewritten by the force-merge")
    return problems


ROUTES: Final[Mapping[Literal["loaded", "reindexed", "rewritten"], Route]] = {
    "loaded": loaded,
    "reindexed": reindexed,
    "rewritten": rewritten,
}


def create(run: RunContext, cluster: ElasticsearchClient, index: str, codec: str | None = None) -> None:
    """Make an index with the profile's settings, or with another codec."""
    settings = run.target.index_settings
    create_index(cluster, run.profile, index, run.folder.run_id, target_settings=settings, codec=codec)


def fill(run: RunContext, index: str, load: QueryOnly) -> tuple[str, ...]:
    """Bring every document into an index by ready-made bulk requests; what it refuses, in one sentence."""
    direct = Direct(via="direct", timeout_s=load.timeout_s)
    sources = Sources(endpoints=run.target.endpoints, index=index, topic=None, consumer_group="", connector=None)
    # The run's own sampler looks at the index that is asked, and only once it is there.
    sampler = Sampler(sources, run.folder.path / "fill.ndjson", phase=lambda: "fill")
    with sampler, ready_sender(run, direct, [index]) as ready:
        done = send_bodies(run, ready, lambda: sampler.latest, phase="fill")
    return refusals(ready.record(done, run.dataset.entities(0, run.dataset.documents)))


def merge(run: RunContext, cluster: ElasticsearchClient, segments: int | None, load: QueryOnly) -> None:
    """Force-merge the run's index, unless it is left as it is."""
    if segments is None:
        return
    run.progress.begin("fill", "merging segments", None)
    wait_for_merges(run, cluster, run.names.index)
    cluster.force_merge(run.names.index, segments, load.timeout_s)
    cluster.refresh(run.names.index)


def copy(run: RunContext, cluster: ElasticsearchClient, source: str, index: str) -> None:
    """Read every document of an index and index it, with its version, into another one."""
    run.progress.begin("fill", "reindexing", run.dataset.documents)
    copied = 0
    page = {"size": REINDEXED_AT_ONCE, "version": True}
    for hits in cluster.scrolled(source, page, ("_id", "_version", "_routing", "_source")):
        lines = (
            operation(
                (hit["_id"].encode(), orjson.dumps(hit["_source"])),
                hit["_version"],
                "external_gte",
                routing=hit.get("_routing"),
            )
            for hit in hits
        )
        cluster.bulk(index, b"".join(lines))
        copied += len(hits)
        run.progress.update(copied)


def touch(run: RunContext, cluster: ElasticsearchClient, index: str) -> None:
    """Index one document of each shard again: the same bytes under the same version."""
    shards = range(run.profile.number_of_shards)
    ids = {name.encode() for shard in shards if (name := cluster.id_in_shard(index, shard)) is not None}
    records = run.dataset.records(numbers := numbers_of(run.dataset, ids))
    lines = (
        operation(record, number, "external_gte", routing=routing)
        for record, number, routing in zip(records, numbers, run.dataset.routings(numbers), strict=True)
    )
    cluster.bulk(index, b"".join(lines))
    cluster.refresh(index)


def numbers_of(dataset: Dataset, keys: Set[bytes]) -> NDArray[np.int64]:
    """The numbers of the documents of these keys, ascending."""
    blocks = dataset.blocks(0, dataset.documents)
    numbers = (
        number for block in blocks for number, key in zip(block, dataset.keys(block), strict=True) if key in keys
    )
    return np.fromiter(islice(numbers, len(keys)), dtype=np.int64)


def codec_problems(profile: Profile, codecs: Mapping[str, int]) -> Iterator[str]:
    """One sentence if there are segments whose stored fields are not as the index's codec makes them.

    Args:
        codecs: Codec of the stored fields → segments.
    """
    # What the modes for logs and columns start with: `IndexMode.getDefaultCodec` of 9.5.4.
    is_small = profile.index.get("mode") in {"logsdb", "columnar", "logsdb_columnar"}
    name = str(profile.index.get("codec", "best_compression" if is_small else "default"))
    mode = MODES.get(name)
    others = {codec: count for codec, count in codecs.items() if mode and not codec.endswith(mode)}
    if others:
        segments = ", ".join(f"{codec} ({count})" for codec, count in sorted(others.items()))
        yield f"index.codec: got segments with {segments}, expected {mode} in all of them, as {name} makes it"
