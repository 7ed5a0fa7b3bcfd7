"""A corrected mapping file, brought into the index of a run."""

from pathlib import Path

import pytest

from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.replay.mapping import update_mapping
from tests.unit.analysis.synthetic import Truth, run
from tests.unit.clients.rest_server import Rest, rest
from tests.unit.messages import MakeMessage

RUN = run(Truth())
OURS = {RUN.index: {"mappings": {"_meta": {"sluice": {"run": RUN.run_id}}}}}
DONE = {"acknowledged": True}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one mapping."""
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings" / "books.json").write_text(
        '{"mappings": {"_meta": {"by": "hand"}, "dynamic": false, "properties": {"n": {"type": "long"}}}}'
    )
    return tmp_path


def servers(elasticsearch: Rest) -> Endpoints:
    """Servers of which only Elasticsearch matters."""
    return Endpoints("127.0.0.1:9", "http://127.0.0.1:9", (elasticsearch.url,), None)


def test_what_the_file_says_is_added_and_the_mark_of_the_run_stays(root: Path) -> None:
    """A `_meta` in the request would take the place of the index's."""
    with rest((200, OURS), (200, DONE)) as elasticsearch:
        update_mapping(RUN, "books", servers(elasticsearch), root)

    body = {"dynamic": False, "properties": {"n": {"type": "long"}}}
    assert elasticsearch.requests[1:] == [("PUT", f"/{RUN.index}/_mapping", body)]


def test_a_change_that_the_server_refuses_is_one_sentence(root: Path, message: MakeMessage) -> None:
    """With its reason, and what to do instead."""
    reason = "mapper [n] cannot be changed from type [text] to [long]"
    with (
        rest((200, OURS), (400, {"error": {"reason": reason}})) as elasticsearch,
        pytest.raises(ProfileError) as refused,
    ):
        update_mapping(RUN, "books", servers(elasticsearch), root)

    assert str(refused.value) == message(f"index {RUN.index}", reason)


@pytest.mark.parametrize("answer", [(404, {}), (200, {RUN.index: {"mappings": {}}})])
def test_an_index_that_is_not_the_runs_is_left_alone(
    root: Path, answer: tuple[int, object], message: MakeMessage
) -> None:
    """It is gone, or another one has its name."""
    with rest(answer) as elasticsearch, pytest.raises(ProfileError) as refused:
        update_mapping(RUN, "books", servers(elasticsearch), root)

    assert str(refused.value) == message(f"index {RUN.index}", RUN.run_id)
    assert [method for method, _, _ in elasticsearch.requests] == ["GET"]
