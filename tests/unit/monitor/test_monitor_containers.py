"""What containers have used, out of the engine's own statistics where the kernel's cannot be seen."""

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.monitor.containers import ContainerReader, Containers, container_sample, engine_client
from lab.records.samples import ProcessSample
from tests.unit.messages import MakeMessage

V2 = {"anon": 1_000_003, "file_mapped": 20_011, "file": 7_000_003, "pgmajfault": 13}
V1 = {"total_rss": 1_000_003, "total_mapped_file": 20_011, "rss": 5, "mapped_file": 3, "total_pgmajfault": 13}
DISK = [
    {"major": 8, "minor": 0, "op": "read", "value": 4099},
    {"major": 8, "minor": 0, "op": "write", "value": 8209},
    {"major": 8, "minor": 16, "op": "write", "value": 2003},
]


def stats(memory: dict[str, int], disk: object = None) -> dict[str, Any]:
    """The engine's statistics of a container, as far as they are read."""
    return {
        "cpu_stats": {"cpu_usage": {"total_usage": 7_130_000_000}},
        "memory_stats": {"usage": 9_000_011, "stats": memory},
        "blkio_stats": {"io_service_bytes_recursive": disk},
    }


@pytest.mark.parametrize("memory", [V2, V1], ids=["control groups v2", "control groups v1"])
def test_a_container_is_counted_as_a_process_is(memory: dict[str, int]) -> None:
    """Pages that are only cached are not its memory; the bytes of all disks are added up."""
    assert container_sample(4099, stats(memory, DISK)) == ProcessSample(
        pid=4099,
        cpu_s=7.13,
        rss_bytes=1_020_014,
        major_page_faults=13,
        disk_read_bytes=4099,
        disk_write_bytes=10_212,
    )


@pytest.mark.parametrize("disk", [None, []])
def test_disk_traffic_that_the_engine_does_not_count_is_not_known(disk: object) -> None:
    """And not nought."""
    sample = container_sample(7, stats(V2, disk))
    assert (sample.disk_read_bytes, sample.disk_write_bytes) == (None, None)


def test_capital_letters_of_older_engines_are_read_as_well() -> None:
    """`Read` and `Write` of control groups v1."""
    disk = [{"op": "Read", "value": 17}, {"op": "Write", "value": 19}, {"op": "Total", "value": 36}]
    sample = container_sample(7, stats(V1, disk))
    assert (sample.disk_read_bytes, sample.disk_write_bytes) == (17, 19)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[str]:
    """An engine's socket that knows one running container and one that has ended."""
    answers = {
        "/containers/runs/json": {"Id": "c25d99ee", "State": {"Running": True, "Pid": 4_194_305}},
        "/containers/runs/stats?stream=false&one-shot=true": stats(V2, DISK),
        "/containers/ended/json": {"Id": "d36e00ff", "State": {"Running": False, "Pid": 0}},
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path)
            content = orjson.dumps(found or {"message": "no such container"})
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def address_string(self) -> str:
            return "socket"

        def log_message(self, *_: object) -> None:
            pass

    path = tmp_path / "engine.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"unix://{path}"
        server.shutdown()
        thread.join()


def test_what_cannot_be_read_has_its_reason_and_the_others_are_read(engine: str, message: MakeMessage) -> None:
    """A container that was killed must not cost the figures of its neighbours."""
    names = {"kafka": "runs", "connect": "ended", "elasticsearch-1": "never-was"}
    reader = ContainerReader(Containers(engine, names), timeout_s=5)
    try:
        processes, groups, lost = reader.read()
    finally:
        reader.close()
    assert list(processes) == ["kafka"]
    assert groups == {}
    assert processes["kafka"] == container_sample(4_194_305, stats(V2, DISK))
    assert lost["connect"] == message("container ended")
    assert lost["elasticsearch-1"].startswith("container never-was: HTTPStatusError: ")


def test_an_engine_that_is_spoken_to_otherwise_is_one_sentence(message: MakeMessage) -> None:
    """Such as one behind ssh."""
    with pytest.raises(ValueError, match="ssh") as error:
        engine_client("ssh://lab@example.org", 1.0)
    assert str(error.value) == message("unix://", "tcp://")
