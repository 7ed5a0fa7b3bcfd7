"""A look as a reader sees it, on a terminal of 80 columns."""

from dataclasses import replace

import pytest

from lab.cli.inspect import print_screen
from lab.inspect.limits import Pipeline
from lab.inspect.screen import bulk_text
from tests.unit.inspect.pipelines import GRAMS, NODE, ONE_TASK, with_connector, with_figures
from tests.unit.messages import MakeMessage

SLOW = replace(
    with_figures(
        with_connector(dead_letters="orders-dead", settings={"batch.size": "1500"}),
        lags={"orders-0": 90_001, "orders-1": 10_002},
        letters=7,
        shard_documents={"orders/0": 20_180, "orders/1": 0},
        nodes=(NODE, replace(NODE, name="es-2", host="10.0.0.2", index_time_s=0.0)),
    ),
    index=GRAMS,
    group_state="STABLE",
)
RESTARTED = with_figures(window_s=34.0, watched_s=70.0, begun_again=("es-1", "orders/0"))
UNKNOWN = replace(with_figures(lag=None, lags={}, backlog=None, nodes=()), index=None)
MANY = with_connector(UNKNOWN, topics=tuple(f"orders-{number}" for number in range(149)))
FORBIDDEN = {"nodes": "status 403: action [cluster:monitor/nodes/stats] is unauthorized for user [u]"}


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(
    ("pipeline", "lost", "facts"),
    [
        (ONE_TASK, {}, ("limited by the sink", "tasks.max")),
        (SLOW, {}, ("orders-dead", "n-grams", "es-2", "orders-0 90,001")),
        (UNKNOWN, FORBIDDEN, ("not known", "not read", 403)),
        (RESTARTED, {}, ("es-1, orders/0", 34, 70)),
        (MANY, {}, ("orders-1", "and 144 more")),
    ],
    ids=["one task", "all there is", "hardly anything", "restarted", "many topics"],
)
def test_a_look_fits_into_80_columns(
    pipeline: Pipeline,
    lost: dict[str, str],
    facts: tuple[object, ...],
    capsys: pytest.CaptureFixture[str],
    message: MakeMessage,
) -> None:
    """The bottleneck comes first, and no line is longer than the terminal."""
    print_screen(replace(pipeline, engine="Elasticsearch 8.19.21", lost=lost))

    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown if len(line) > 80] == []
    assert "\n".join(shown) == message(*facts)


@pytest.mark.parametrize(("indexing_rate", "has_part"), [(1_009.0, True), (2_019.0, False)])
def test_what_others_send_to_a_shard_is_no_part_of_the_sink_s_requests(indexing_rate: float, *, has_part: bool) -> None:
    """It may hold more documents than the whole."""
    figures = with_figures(sink_bulk_documents=21.0, indexing_rate=indexing_rate).figures

    assert ("its part on a shard" in bulk_text(figures)) == has_part
