"""What is made of the answers of `_recovery`, of the routing, of nodes and of disks."""

from collections.abc import Mapping
from typing import Any

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.models import Maintain
from lab.run.maintain.disk import NodeDisk, Watermark, disks_in, lacking, watermark_in
from lab.run.maintain.nodes import DataNode, check_repositories, data_nodes_in, targets_of
from lab.run.maintain.placement import Copy, indices_in_place, routed
from lab.run.maintain.recoveries import RecoveryBook, bytes_by_way, index_deployment
from tests.unit.messages import MakeMessage

GB = 10**9
TO = ("elasticsearch-2", "elasticsearch-3")


def recovery(shard: int, *, source: str | None, target: str, copied: int, **other: Any) -> dict[str, Any]:
    """A recovery as Elasticsearch tells it."""
    kind = other.get("type", "PEER")
    where = {"repository": "sluice-x"} if kind == "SNAPSHOT" else {"name": source} if source else {}
    return {
        "id": shard,
        "type": kind,
        "stage": other.get("stage", "DONE"),
        "primary": other.get("primary", False),
        "start_time_in_millis": other.get("start", 1_000),
        "stop_time_in_millis": other.get("stop", 3_000),
        "total_time_in_millis": 2_000,
        "source": where,
        "target": {"name": target},
        "index": {
            "size": {"total_in_bytes": 500, "recovered_in_bytes": copied},
            "source_throttle_time_in_millis": 7,
            "target_throttle_time_in_millis": 11,
        },
    }


def answer(*shards: Mapping[str, Any], index: str = "sluice-a") -> dict[str, Any]:
    """An answer of `_recovery`."""
    return {index: {"shards": list(shards)}}


def test_a_recovery_that_elasticsearch_forgets_is_kept() -> None:
    """A replica that takes the place of another one hides its recovery; both are counted, each once."""
    book = RecoveryBook("elasticsearch-1")
    first = recovery(0, source="elasticsearch-1", target="elasticsearch-2", copied=100, start=1_000)
    book.read(1.0, answer(first))
    book.read(1.3, answer(first))
    book.read(1.6, answer(recovery(0, source="elasticsearch-2", target="elasticsearch-3", copied=31, start=2_000)))
    assert [each.copied_bytes for each in book.recoveries] == [100, 31]
    assert [(each.copied_bytes, each.active) for each in book.progress] == [(100, 0), (100, 0), (131, 0)]
    assert bytes_by_way(book.recoveries) == {
        "elasticsearch-1": {"elasticsearch-2": 100},
        "elasticsearch-2": {"elasticsearch-3": 31},
    }


def test_what_was_there_before_is_no_part_of_a_deployment() -> None:
    """The index node has made its own copies; the same place at another time is another recovery."""
    book = RecoveryBook("elasticsearch-1")
    empty = recovery(0, source=None, target="elasticsearch-1", copied=0, type="EMPTY_STORE", start=10)
    book.ignore(answer(empty))
    again = recovery(0, source=None, target="elasticsearch-1", copied=0, type="EXISTING_STORE", start=20)
    book.read(1.0, answer(empty, again))
    assert [each.kind for each in book.recoveries] == ["EXISTING_STORE"]
    assert bytes_by_way(book.recoveries) == {}


def test_a_recovery_under_way_grows_and_is_counted_at_its_source() -> None:
    """Most at once is that of the index node alone; bytes are those of the last reading."""
    book = RecoveryBook("elasticsearch-1")
    under_way = [
        recovery(shard, source=source, target="elasticsearch-3", copied=copied, stage="INDEX", stop=0)
        for shard, source, copied in ((0, "elasticsearch-1", 3), (1, "elasticsearch-1", 5), (2, "elasticsearch-2", 7))
    ]
    book.read(1.0, answer(*under_way))
    book.read(1.3, answer(recovery(0, source="elasticsearch-1", target="elasticsearch-3", copied=103)))
    assert (book.most_from_index_node, book.copied_bytes) == (2, 115)
    assert [each.active for each in book.progress] == [3, 0]
    assert [each.ended_s for each in book.recoveries] == [3.0, None, None]


def test_an_index_counts_its_recoveries_under_both_names() -> None:
    """Restored, it is called otherwise than the index that was snapshot."""
    book = RecoveryBook("elasticsearch-1")
    restored = recovery(0, source=None, target="elasticsearch-2", copied=13, type="SNAPSHOT")
    book.read(1.0, {**answer(restored, index="sluice-a-restored"), **answer(restored, index="sluice-b-restored")})
    found = index_deployment("sluice-a", {"sluice-a", "sluice-a-restored"}, "sluice-a-restored", 5.0, book.recoveries)
    assert (found.copied_bytes, found.recoveries, found.source_throttle_ms, found.target_throttle_ms) == (13, 1, 7, 11)
    assert bytes_by_way(book.recoveries) == {"repository": {"elasticsearch-2": 26}}


def copies(*nodes: str | None, state: str = "STARTED", index: str = "sluice-a", shard: int = 0) -> list[Copy]:
    """The copies of one shard."""
    return [Copy(index, shard, number == 0, state, node) for number, node in enumerate(nodes)]


def test_an_index_is_in_place_once_all_its_copies_are() -> None:
    """None too few or too many, none under way, none elsewhere."""
    whole = copies(*TO)
    assert indices_in_place(whole, TO, 1) == {"sluice-a"}
    assert indices_in_place([*whole, *copies(*TO, index="sluice-b")], TO, 1) == {"sluice-a", "sluice-b"}
    assert indices_in_place([*whole, *copies(*TO, shard=1)], TO, 1) == {"sluice-a"}
    for other in (
        copies(TO[0]),
        copies(*TO, TO[0]),
        copies("elasticsearch-1", TO[1]),
        copies(*TO, state="RELOCATING"),
        copies(TO[0], None),
    ):
        assert indices_in_place([*whole, *copies(*TO, shard=1), *other], TO, 1) == set()
    assert indices_in_place([*whole, *copies(TO[0], index="sluice-b")], TO, 1) == {"sluice-a"}


def test_the_routing_names_nodes_and_failed_allocations() -> None:
    """A copy whose allocation has failed five times is not tried again by itself."""
    unassigned = {"state": "UNASSIGNED", "primary": False, "node": None, "unassigned_info": {"failed_attempts": 5}}
    gone = {"state": "STARTED", "primary": True, "node": "left"}
    answer = {
        "nodes": {"id": {"name": "elasticsearch-2"}},
        "routing_table": {
            "indices": {"a": {"shards": {"3": [{"state": "STARTED", "primary": True, "node": "id"}, unassigned, gone]}}}
        },
    }
    started, given_up, lost = routed(answer)
    assert started == Copy("a", 3, primary=True, state="STARTED", node="elasticsearch-2")
    assert (given_up.is_given_up, started.is_given_up, lost.node) == (True, False, None)


def test_a_move_that_elasticsearch_has_given_up_is_asked_for_again() -> None:
    """Since 8.6 the shard then stays where it is, started, and says how often its move has failed."""
    stuck = {
        "state": "STARTED",
        "primary": True,
        "node": "id",
        "relocation_failure_info": {"failed_attempts": 5},
    }
    answer = {
        "nodes": {"id": {"name": "elasticsearch-1"}},
        "routing_table": {"indices": {"a": {"shards": {"0": [stuck]}}}},
    }
    (copy,) = routed(answer)
    assert copy.is_given_up


# --- nodes ----------------------------------------------------------------------------------------------------------


def test_only_data_nodes_hold_an_index_and_their_repositories_are_found() -> None:
    """`path.repo` is one folder, or several."""
    nodes = {
        "1": {"name": "b", "roles": ["data"], "settings": {"path": {"repo": "/one"}}},
        "2": {"name": "a", "roles": ["data_content"], "settings": {"path": {"repo": ["/one", "/two"]}}},
        "3": {"name": "c", "roles": ["master"]},
        "4": {"name": "d", "roles": ["data"]},
    }
    assert data_nodes_in({"nodes": nodes}) == [
        DataNode("a", ("/one", "/two")),
        DataNode("b", ("/one",)),
        DataNode("d", ()),
    ]


def test_indices_go_to_every_other_node_unless_some_are_named() -> None:
    """Of the nodes that there are."""
    names = {"elasticsearch-1", *TO}
    assert targets_of(load_profile("products/deploy"), names) == TO
    named = load_profile(
        "products/deploy", overrides=["maintain.to=[elasticsearch-3]", "maintain.number_of_replicas=0"]
    )
    assert targets_of(named, names) == ("elasticsearch-3",)


@pytest.mark.parametrize(
    ("override", "facts"),
    [
        ("maintain.to=[es-9]", ("maintain.to", "es-9")),
        ("maintain.index_node=elasticsearch-9", ("elasticsearch-9",)),
        ("maintain.number_of_replicas=2", (2, 1)),
    ],
)
def test_a_deployment_that_the_nodes_do_not_allow_is_refused(
    override: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With the names that there are."""
    with pytest.raises(ProfileError) as refused:
        targets_of(load_profile("products/deploy", overrides=[override]), ["elasticsearch-1", *TO])
    assert str(refused.value) == message(*facts)


def test_a_snapshot_needs_a_folder_on_every_node(message: MakeMessage) -> None:
    """The first route needs none."""
    nodes = [DataNode("a", ("/one",)), DataNode("b", ())]
    check_repositories(load_profile("products/deploy"), nodes)
    with pytest.raises(ProfileError) as refused:
        check_repositories(load_profile("products/deploy", overrides=["maintain.route=snapshot"]), nodes)
    assert str(refused.value) == message("--set maintain.route", "snapshot", "path.repo")


# --- disks ----------------------------------------------------------------------------------------------------------

SECTION = Maintain(action="deploy")


@pytest.mark.parametrize(
    ("stated", "most_free", "kept"),
    [
        ("2gb", None, 2 * 2**30),
        ("500mb", "1gb", 500 * 2**20),
        ("85%", None, 15 * GB),
        ("0.85", "-1", 15 * GB),
        ("85%", "1gb", 2**30),
        ("85%", "200gb", 15 * GB),
    ],
)
def test_a_watermark_is_a_share_or_a_size(stated: str, most_free: str | None, kept: int) -> None:
    """Of a share, a bound says how much is kept free at most."""
    assert Watermark(stated, most_free).kept_free_bytes(100 * GB) == pytest.approx(kept, rel=1e-6)


def test_the_watermark_in_force_wins_over_the_default() -> None:
    """There is none where the cluster looks at no disk."""
    low, threshold = (
        "cluster.routing.allocation.disk.watermark.low",
        "cluster.routing.allocation.disk.threshold_enabled",
    )
    answer = {"defaults": {low: "85%"}, "persistent": {low: "3gb"}, "transient": {}}
    assert watermark_in(answer) == Watermark("3gb", None)
    assert watermark_in({**answer, "transient": {threshold: "false"}}) is None


def test_nodes_of_one_disk_share_its_room(message: MakeMessage) -> None:
    """Two nodes take 5 GB each, and the index node that built them 5 GB more: 15 of the 14 GB that are there."""
    disks = [NodeDisk(name, "host /", 100 * GB, 16 * GB) for name in ("elasticsearch-1", *TO)]
    kept = Watermark("2000000000b", None)
    first, _ = lacking(disks, kept, 5 * GB, SECTION, TO)
    assert first == message(
        "elasticsearch-2", 15, 14, 16, "cluster.routing.allocation.disk.watermark.low", "2000000000b"
    )
    apart = [NodeDisk(name, f"{name} /", 100 * GB, 8 * GB) for name in ("elasticsearch-1", *TO)]
    assert list(lacking(apart, kept, 5 * GB, SECTION, TO)) == []


def test_a_snapshot_lies_beside_the_index_that_it_is_of() -> None:
    """Original, repository and two copies: 20 GB of the 19 GB that are there; without the repository they fit."""
    disks = [NodeDisk(name, "host /", 100 * GB, 21 * GB) for name in ("elasticsearch-1", *TO)]
    kept = Watermark("2000000000b", None)
    through_a_snapshot = SECTION.model_copy(update={"route": "snapshot"})
    assert len(list(lacking(disks, kept, 5 * GB, through_a_snapshot, TO))) == len(TO)
    assert list(lacking(disks, kept, 5 * GB, SECTION, TO)) == []


def test_a_disk_is_where_its_host_has_mounted_it() -> None:
    """Nodes of one machine share one."""
    node = {
        "name": "a",
        "host": "10.0.0.1",
        "fs": {"total": {"total_in_bytes": 7, "available_in_bytes": 3}, "data": [{"mount": "/ (/dev/vda)"}]},
    }
    assert disks_in({"nodes": {"id": node}}) == [NodeDisk("a", "10.0.0.1 / (/dev/vda)", 7, 3)]
