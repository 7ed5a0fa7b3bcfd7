"""The index settings of each release of each engine."""

import pytest

from lab.engines import DEFAULT, ENGINES, Engine
from lab.profiles.index_settings import known_settings
from lab.stack.artifacts import read_lock
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    "name",
    [
        "number_of_shards",
        "number_of_replicas",
        "refresh_interval",
        "codec",
        "translog.durability",
        "translog.flush_threshold_size",
        "merge.scheduler.max_thread_count",
        "routing.allocation.include._name",
        "analysis.analyzer.korean.type",
        "sort.field",
        "mapping.total_fields.limit",
        "lifecycle.name",
    ],
)
@pytest.mark.parametrize(
    "version", [*(release.numbers for release in read_lock().releases(DEFAULT.engine)), (10, 0, 0)], ids=str
)
def test_the_knobs_of_indexing_are_known_to_every_version(name: str, version: tuple[int, ...]) -> None:
    """A version that is newer than all that were read is taken for the newest of them."""
    assert known_settings().complaint(name, version) is None


def test_a_setting_that_came_later_is_refused_with_the_version_that_has_it(message: MakeMessage) -> None:
    """Between two releases that were read, either may be right."""
    known = known_settings()
    assert known.complaint("mode", (7, 17, 7)) == message("7.17.7", "8.17.4")
    assert known.complaint("mode", (8, 5, 0)) is None


def test_a_setting_that_is_gone_is_refused_with_the_last_version_that_had_it(message: MakeMessage) -> None:
    """Elasticsearch 8 removed it."""
    assert known_settings().complaint("max_adjacency_matrix_filters", (8, 19, 21)) == message("8.19.21", "7.17.7")


def test_settings_of_the_server_itself_are_unknown(message: MakeMessage) -> None:
    """They are private to Elasticsearch, which refuses them, too."""
    assert known_settings().complaint("version.created", (8, 19, 21)) == message("unknown key")


def test_a_slip_of_the_pen_is_recognised(message: MakeMessage) -> None:
    """The nearest name is proposed."""
    assert known_settings().complaint("translog.durabilty", (8, 19, 21)) == message("translog.durability")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_every_release_that_can_be_started_was_read(engine: Engine) -> None:
    """`tools/add_version.py` locks a release and reads its settings at once."""
    assert known_settings(engine).read_from == tuple(release.numbers for release in read_lock().releases(engine))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_list_is_sorted_and_bounded_by_the_releases_that_were_read(engine: Engine) -> None:
    """A list that is sorted shows in a diff what a new release brings."""
    known = known_settings(engine)
    assert list(known.releases) == sorted(known.releases)
    assert all(first in known.read_from and last in known.read_from for first, last in known.releases.values())
