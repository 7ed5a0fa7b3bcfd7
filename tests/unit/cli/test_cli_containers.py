"""What `docker compose up` needs: each thing that is missing is told with its remedy."""

import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from lab.cli import containers
from lab.cli.containers import (
    Finding,
    against,
    compose_version,
    disk,
    heap_mb,
    heaps,
    heaps_of,
    heaps_of_variables,
    inside,
    limits_of,
    limits_of_variable,
    maps,
    memory,
    ports,
    size_mb,
)
from lab.profiles.memory import least_mb, limit_mb
from tests.unit.messages import MakeMessage

ALL_HOLD = {"heaps": ("good", "every limit holds its server's heap and what it needs beside it")}


def found(findings: Iterable[Finding]) -> dict[str, tuple[str, str]]:
    """What was found, by what was looked at."""
    return {finding.what: (finding.verdict, finding.sentence) for finding in findings}


@pytest.mark.parametrize(
    ("text", "expected_mb"),
    [("768m", 768), ("2g", 2048), ("2gb", 2048), ("512kb", 0.5), ("1048576", 1), ("1.5g", 1536)],
)
def test_sizes_are_read_as_docker_and_elasticsearch_write_them(text: str, expected_mb: float) -> None:
    """With and without b, in any unit."""
    assert size_mb(text) == expected_mb


def test_what_is_no_size_is_refused(message: MakeMessage) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match="much") as error:
        size_mb("much")
    assert str(error.value) == message("much", "768m", "2g")


def test_memory_is_enough_for_all_limits_together(message: MakeMessage) -> None:
    """Every container may take what it is allowed."""
    assert memory(7919, {"kafka": 769, "elasticsearch": 1543}) == Finding("memory", "good", message("7,919", "2,312"))


def test_too_little_memory_is_told_with_three_remedies(message: MakeMessage) -> None:
    """More for Docker, fewer containers, or less for each."""
    short = memory(1999, {"kafka": 769, "elasticsearch": 1543})
    assert short.verdict == "bad"
    assert short.sentence == message(
        "1,999",
        "2,312",
        "MONITORING=off",
        "ELASTICSEARCH_HEAP=512m",
        f"ELASTICSEARCH_MEMORY={limit_mb('elasticsearch', 512)}m",
    )


@pytest.mark.parametrize(("text", "expected_mb"), [("769m", 769), ("769M", 769), ("2g", 2048), ("8388608", 8)])
def test_heaps_are_read_as_java_reads_them(text: str, expected_mb: float) -> None:
    """A whole number of bytes, or one with a unit."""
    assert heap_mb(text) == expected_mb


@pytest.mark.parametrize("text", ["1.5g", "2gb", "768mb", "much", "", "-1g", "769"])
def test_a_heap_that_java_refuses_is_refused(text: str) -> None:
    """A number without a unit is bytes."""
    with pytest.raises(ValueError, match=f"^got {text}"):
        heap_mb(text)


@pytest.mark.parametrize("server", ["elasticsearch", "observer", "kafka", "connect", "kibana"])
def test_a_limit_is_refused_from_the_first_megabyte_that_lacks(server: str) -> None:
    """For each server by its own need."""
    least = least_mb(server, 769)
    assert found(heaps([(server, "769m", least)])) == ALL_HOLD
    assert [finding.verdict for finding in heaps([(server, "769m", least - 1)])] == ["bad"]


def test_a_heap_as_large_as_its_limit_is_told_in_one_sentence_with_the_limit_it_needs(message: MakeMessage) -> None:
    """What fits is not told beside it."""
    least, advised = least_mb("elasticsearch", 2048), limit_mb("elasticsearch", 2048)
    assert list(heaps([("elasticsearch", "2g", 2048), ("kafka", "383m", 1021)])) == [
        Finding(
            "elasticsearch",
            "bad",
            message(
                "ELASTICSEARCH_MEMORY",
                "2,048",
                f"{least:,}",
                137,
                f"ELASTICSEARCH_MEMORY={advised}m",
                "ELASTICSEARCH_HEAP",
            ),
        )
    ]


def test_every_server_that_does_not_fit_is_told_and_equal_nodes_once(message: MakeMessage) -> None:
    """All problems at once."""
    servers = [("kafka", "383m", 383), ("kafka", "383m", 383), ("connect", "1.5g", 2039), ("kibana", "701m", 1511)]
    refused = list(heaps(servers))
    assert [finding.what for finding in refused] == ["kafka", "connect"]
    assert refused[1].sentence == message("CONNECT_HEAP", "1.5g")


def test_heaps_of_containers_that_are_not_started_do_not_count() -> None:
    """`MONITORING=off` starts no observer."""
    words = heaps_of_variables("kafka=383m observer=509m kibana=701m", "kafka=1021m*3 observer=1g*0 kibana=1511m*1")
    assert list(words) == [("kafka", "383m", 1021), ("kibana", "701m", 1511)]


def test_from_outside_the_heap_is_what_the_process_is_told_last() -> None:
    """Whatever sets it: a variable of ours or a file of the user's."""
    mb = 2**20
    services = {
        "elasticsearch-2": {
            "mem_limit": str(1543 * mb),
            "environment": {"ES_JAVA_OPTS": "-Xms1g -Xmx1g -Xms769m -Xmx769m"},
        },
        "kafka": {"mem_limit": str(769 * mb), "environment": {"KAFKA_HEAP_OPTS": "-Xmx383m"}, "scale": 0},
        "kibana": {"mem_limit": str(1511 * mb), "environment": {"NODE_OPTIONS": "--max-old-space-size=701"}},
        "producer": {"mem_limit": str(257 * mb), "environment": {}},
    }
    assert list(heaps_of(services)) == [("elasticsearch", "769m", 1543), ("kibana", "701m", 1511)]


def test_memory_maps_are_needed_unless_files_are_not_mapped(message: MakeMessage) -> None:
    """The remedy is the command."""
    what = "vm.max_map_count"
    assert maps(262_144, mmap=True, nodes=2) == Finding(what, "good", "262,144")
    assert maps(65_530, mmap=False, nodes=2) == Finding(what, "good", message("ELASTICSEARCH_MMAP"))
    assert maps(65_530, mmap=True, nodes=1) == Finding(what, "good", message("single node"))
    assert maps(None, mmap=True, nodes=2).verdict == "optional"
    few = maps(65_530, mmap=True, nodes=2)
    assert few.verdict == "bad"
    assert few.sentence == message("65,530", "262,144", "sudo sysctl -w vm.max_map_count=262144")


def test_the_disk_must_have_more_than_the_low_watermark(message: MakeMessage) -> None:
    """Below it Elasticsearch allots no shard, and nothing would tell why."""
    assert disk(3049, "2gb") == Finding("disk", "good", message("3,049"))
    full = disk(3041, "2gb")
    assert full.verdict == "bad"
    assert full.sentence == message("3,041 MB", "3,048", "2gb")


def test_limits_are_told_with_how_many_there_are() -> None:
    """Two nodes of a kind take twice as much, none takes nothing."""
    assert limits_of_variable("kafka=769m elasticsearch=1g*2 kibana=1200m*0") == {
        "kafka": 769,
        "elasticsearch": 2048,
        "kibana": 0,
    }


def test_a_cluster_has_several_of_a_kind_whatever_the_experiment_says() -> None:
    """An experiment of one node runs on three, one of four on four."""
    words = "kafka=640m elasticsearch=1g*4 connect=768m*1"
    assert limits_of_variable(words, "kafka=3 elasticsearch=3") == {
        "kafka": 1920,
        "elasticsearch": 4096,
        "connect": 768,
    }


def test_containers_that_are_soon_gone_do_not_count() -> None:
    """Setup has ended before the producer begins."""
    services = {
        "kafka": {"mem_limit": "805306368"},
        "elasticsearch-2": {"mem_limit": "1610612736", "scale": 0},
        "setup": {"mem_limit": "402653184"},
    }
    assert limits_of(services) == {"kafka": 768, "elasticsearch-2": 0}


@pytest.mark.parametrize(
    ("said", "expected", "facts"),
    [
        ("2.40.3", "good", ("2.40.3",)),
        ("v2.31.0-desktop.1", "good", ("v2.31.0-desktop.1",)),
        ("2.30.3", "bad", ("2.30.3", "2.31.0")),
        (None, "bad", ("2.31.0",)),
    ],
)
def test_compose_must_know_what_our_files_say(
    said: str | None, expected: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Older ones refuse some of them, or look for their files in other places."""
    verdict = compose_version(said)
    assert (verdict.verdict, verdict.sentence) == (expected, message(*facts))


def test_a_taken_port_names_the_service_that_needs_it(message: MakeMessage) -> None:
    """Of services that are not started, ports do not matter."""
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as unneeded:
        taken, free_to_be = other.getsockname()[1], unneeded.getsockname()[1]
        services = {
            "kafka": {"ports": [{"published": str(taken)}]},
            "kibana": {"ports": [{"published": str(free_to_be)}], "scale": 0},
        }
        assert found(ports(services)) == {f"port {taken}": ("bad", message("kafka", ".env.example"))}


def test_the_first_container_judges_by_what_compose_tells_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, message: MakeMessage
) -> None:
    """Memory and maps of the machine that runs Docker are visible in every container."""
    (tmp_path / "meminfo").write_text("MemTotal:        4099072 kB\nMemFree: 7 kB\n")
    (tmp_path / "max_map_count").write_text("65530\n")
    monkeypatch.setattr(containers, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(containers, "MAX_MAPS", tmp_path / "max_map_count")
    monkeypatch.setattr(containers, "VOLUMES", tmp_path / "none")
    told = {"SLUICE_LIMITS": "elasticsearch=2g*2", "SLUICE_HEAPS": "elasticsearch=1g"}
    seen = found(inside({**told, "SLUICE_MMAP": "false", "SLUICE_NODES": "2"}))
    assert seen == {
        "memory": ("bad", seen["memory"][1]),
        **ALL_HOLD,
        "vm.max_map_count": ("good", message("ELASTICSEARCH_MMAP")),
    }


def test_from_outside_the_settings_are_those_that_compose_has_understood(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Its limits, its watermark, whether files are mapped."""
    services = {
        "elasticsearch": {
            "mem_limit": "1610612736",
            "environment": {
                "node.store.allow_mmap": "false",
                "cluster.routing.allocation.disk.watermark.low": "1mb",
                "ES_JAVA_OPTS": "-Xmx1511m",
            },
        }
    }
    said = {"{{.MemTotal}}": str(4099 * 2**20), "{{.DockerRootDir}}": "/", "--quiet": "an id"}
    monkeypatch.setattr(containers, "first_line_of", lambda *words: said[words[-1]])
    seen = found(against(services))
    assert seen["memory"] == ("good", message("4,099", "1,536"))
    assert seen["vm.max_map_count"][0] == "good"
    assert seen["elasticsearch"][0] == "bad"
    assert set(seen) == {"memory", "elasticsearch", "vm.max_map_count", "disk"}
