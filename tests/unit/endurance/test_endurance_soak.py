"""What a soak says of its readings."""

from pathlib import Path

import pytest

from lab.stack.server import ServerSpec
from tests.endurance.footprint import bytes_of, heap_in_use_mb, logs_of
from tests.endurance.slopes import Verdict
from tests.endurance.soak import Reading, judged, most_lag_records, table_of, write_report

HEAP = "worker: heap after collection"


def readings(**per_minute: float) -> list[Reading]:
    """61 readings, one a minute: lag of 7, and each named figure from 100 on, so much more each minute."""
    return [
        Reading(
            60.0 * minute,
            {"lag": 7.0} | {f"worker: {name}": 100.0 + by * minute for name, by in per_minute.items()},
        )
        for minute in range(61)
    ]


def test_a_leak_is_told_from_what_stays() -> None:
    """60 threads an hour, and none."""
    found = {each.name: each for each in judged(readings(threads=1.0, MBeans=0.0), 1000)}
    assert {name: each.verdict for name, each in found.items()} == {
        "worker: threads": Verdict.GROWS,
        "worker: MBeans": Verdict.FLAT,
        "lag": Verdict.FLAT,
    }
    assert found["worker: threads"].slope_per_h.growth == pytest.approx(60.0)
    assert found["worker: threads"].highest == 160.0


@pytest.mark.parametrize(("from_minute", "times"), [(45, 2.0), (50, 10.0), (55, 2.0)])
def test_a_leak_that_begins_late_is_one(from_minute: int, times: float) -> None:
    """Its jump is far from any line, whose interval holds everything then."""
    late = [
        Reading(60.0 * minute, {"lag": 7.0, "worker: threads": 100.0 * (times if minute >= from_minute else 1.0)})
        for minute in range(61)
    ]
    assert [each.verdict for each in judged(late, 1000)] == [Verdict.FLAT, Verdict.GROWS]


def test_a_log_may_grow_by_a_megabyte_an_hour() -> None:
    """It has to be kept, not to stay as it is."""
    found = {each.name: each for each in judged(readings(log=15.0), 1000)}
    assert (found["worker: log"].bound_per_h, found["worker: log"].verdict) == (1000.0, Verdict.FLAT)


def test_the_warm_up_is_left_out() -> None:
    """A rise in the first 10 of 60 minutes."""
    rising = [Reading(60.0 * number, {"lag": float(min(number, 10))}) for number in range(61)]
    (found,) = judged(rising, 1000)
    assert (found.slope_per_h.growth, found.highest) == (0.0, 10.0)
    assert most_lag_records([found]) == 10.0


def test_a_figure_that_is_read_now_and_then_has_a_slope_of_its_own() -> None:
    """The heap, once in six readings."""
    several = [
        Reading(60.0 * number, {"lag": 0.0} | ({HEAP: 50.0 + number} if number % 6 == 0 else {}))
        for number in range(61)
    ]
    heap = judged(several, 1000)[-1]
    assert (heap.name, heap.unit, heap.verdict) == (HEAP, "MB", Verdict.GROWS)


def test_the_report_has_a_row_and_a_chart_for_each_figure(tmp_path: Path) -> None:
    """With the unit, and the growth that nobody minds."""
    several = readings(threads=1.0)
    table = table_of(judged(several, 1000))
    page = write_report(tmp_path, "A soak", ["so it was"], several, table)
    assert page.read_text().startswith("# A soak\n\n- so it was\n\n| figure | unit |")
    assert "| worker: threads |  | 135 | 160 | 60 | 60 to 60 | 1.35 | grows |" in table
    assert "| lag | records | 7 | 7 | 0 | 0 to 0 | 1,000 | flat |" in table
    drawing = (tmp_path / "figures.svg").read_text()
    assert ("worker: threads" in drawing, "lag" in drawing) == (True, True)


SERIAL = """\
2749:
DefNew     total 157248K, used 28672K [0x00000000e0000000, 0x00000000eaaa0000, 0x00000000eaaa0000)
 eden space 139776K,   7% used [0x00000000e0000000, 0x00000000e0a6c808, 0x00000000e8880000)
Tenured    total 349568K, used 98304K [0x00000000eaaa0000, 0x0000000100000000, 0x0000000100000000)
"""
G1 = """\
2749:
 garbage-first heap   total 262144K, used 3584K [0x00000000c0000000, 0x0000000100000000)
  region size 1024K, 4 young (4096K), 0 survivors (0K)
 Metaspace       used 1024K, committed 1280K, reserved 1114112K
"""


@pytest.mark.parametrize(("heap_info", "used_mb"), [(SERIAL, 124.0), (G1, 3.5)])
def test_heap_in_use_is_that_of_all_generations(heap_info: str, used_mb: float) -> None:
    """Classes and compiled code are no heap."""
    assert heap_in_use_mb(heap_info) == used_mb


def test_the_logs_of_a_node_are_its_output_and_what_lies_beside_its_log(tmp_path: Path) -> None:
    """But for that of the collector, which the virtual machine itself keeps short."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for path in (tmp_path / "node.out", logs / "sluice.log", logs / "sluice_deprecation.json", logs / "gc.log.03"):
        path.write_bytes(b"x" * 101)
    spec = ServerSpec(
        kind="elasticsearch",
        name="elasticsearch-1",
        version="8",
        java_version="17",
        command=("true",),
        ports={},
        log_file=tmp_path / "node.out",
        server_log=logs / "sluice.log",
        shape="",
    )
    assert {path.name for path in logs_of(spec)} == {"node.out", "sluice.log", "sluice_deprecation.json"}
    assert bytes_of([*logs_of(spec), logs / "gone.log"]) == 303
