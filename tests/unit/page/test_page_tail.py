"""Samples are read as they are written, none of them twice."""

from pathlib import Path

from lab.page.tail import MOST_SAMPLES, SampleTail
from tests.unit.analysis.synthetic import Truth, samples
from tests.unit.page.run_folders import append, line

SEEN = samples(Truth(ticks=7))


def test_each_look_gives_what_is_new(tmp_path: Path) -> None:
    """Before there is a file, nothing."""
    tail = SampleTail(tmp_path / "samples.ndjson")
    assert tail.read() == []
    append(tmp_path, *SEEN[:3])
    assert tail.read() == SEEN[:3]
    assert tail.read() == []
    append(tmp_path, *SEEN[3:5])
    assert tail.read() == SEEN[3:5]


def test_a_half_written_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    """Wherever it is cut."""
    whole = line(SEEN[1])
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path = tmp_path / f"{cut}.ndjson"
        path.write_bytes(line(SEEN[0]) + whole[:cut])
        tail = SampleTail(path)
        assert tail.read() == SEEN[:1]
        with path.open("ab") as file:
            file.write(whole[cut:])
        assert tail.read() == SEEN[1:2]


def test_a_file_that_was_emptied_is_read_from_its_beginning(tmp_path: Path) -> None:
    """As `watch` empties one that it has read."""
    path = tmp_path / "samples.ndjson"
    tail = SampleTail(path)
    append(tmp_path, *SEEN[:3])
    tail.read()
    path.write_bytes(line(SEEN[3]))
    assert tail.read() == SEEN[3:4]


def test_another_file_by_the_same_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    """Even if it is longer than the one before."""
    path = tmp_path / "samples.ndjson"
    tail = SampleTail(path)
    append(tmp_path, SEEN[0])
    tail.read()
    fresh = tmp_path / "fresh"
    fresh.write_bytes(b"".join(map(line, SEEN[1:4])))
    fresh.rename(path)
    assert tail.read() == SEEN[1:4]


def test_a_line_of_another_version_is_counted_and_passed_over(tmp_path: Path) -> None:
    """The ones after it are shown."""
    path = tmp_path / "samples.ndjson"
    path.write_bytes(b'{"at_s": 7, "said_by_a_later_version": 1}\n' + line(SEEN[0]))
    tail = SampleTail(path)
    assert (tail.read(), tail.unread) == (SEEN[:1], 1)


def test_of_a_long_run_only_the_end_is_read(tmp_path: Path) -> None:
    """A browser that comes after a day sees the last minutes, not the day."""
    path = tmp_path / "samples.ndjson"
    path.write_bytes(b"no sample\n" * 1009 + line(SEEN[0]) * MOST_SAMPLES)
    tail = SampleTail(path)
    assert (len(tail.read()), tail.unread) == (MOST_SAMPLES, 0)
