"""`sluice stream`: what it takes, and where it says that a stream is to be seen."""

from pathlib import Path

import pytest

from lab.cli.stream import Reporter, rate_of, sentence_of, share_of, show, streamed, streamed_dataset
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.stream.check import StreamAccounting
from producers.share import Share
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage


def chosen(
    name: str, *, documents: int | None = None, path: str | None = None, key: str | None = None, sink: str = "sluice"
) -> Profile:
    """The profile as the command takes it."""
    return streamed(name, documents=documents, path=path, key=key, sink=sink)


@pytest.mark.parametrize(("text", "expected"), [("max", None), ("1009", 1009.0), ("0.5", 0.5)])
def test_a_rate_is_a_number_or_as_fast_as_the_sink(text: str, expected: float | None) -> None:
    """`max` is what a profile that drains gets."""
    assert rate_of(text) == expected


@pytest.mark.parametrize("text", ["0", "-7", "inf", "nan", "fast", ""])
def test_another_rate_is_refused(text: str, message: MakeMessage) -> None:
    """With what was expected."""
    with pytest.raises(ProfileError) as refusal:
        rate_of(text)
    assert str(refusal.value) == message("--rate", text, 0)


def test_a_share_is_one_of_several(message: MakeMessage) -> None:
    """Without one it is the whole."""
    assert (share_of(None), share_of("2/3")) == (Share(1, 1), Share(2, 3))
    with pytest.raises(ProfileError) as refusal:
        share_of("3")
    assert str(refusal.value) == message("--share", 3, "2/5")


def test_values_of_the_profile_can_be_set() -> None:
    """As in a cluster, where every index has a replica."""
    profile = streamed("quickstart", documents=7, path=None, key=None, sink="sluice", settings=["topic.partitions=5"])
    assert (profile.topic.partitions, profile.dataset.documents) == (5, 7)


def test_a_lap_is_as_long_as_asked_for() -> None:
    """A profile that counts books counts documents then; a file is as long as it is."""
    assert chosen("quickstart", documents=2003).dataset.documents == 2003
    flat = chosen("aladin/flat", documents=2003).dataset
    assert (flat.documents, flat.books) == (2003, None)
    assert chosen("file", documents=2003, path="books.ndjson", key="isbn13").dataset.documents is None


def test_documents_with_a_routing_are_not_streamed_without_end(tmp_path: Path, message: MakeMessage) -> None:
    """Only a run has the sink route them, and looks for them where they are stored."""
    (tmp_path / "books.json").write_text('{"index":{"_id":1,"routing":"x"}}\n{"a":1}\n')
    with pytest.raises(ProfileError) as refusal:
        streamed_dataset(chosen("file", path=str(tmp_path / "books.json")))
    assert str(refusal.value) == message("dataset.path", "./sluice run")


def test_another_plugin_has_a_template_of_its_own(message: MakeMessage) -> None:
    """A profile that names another connector keeps it."""
    assert chosen("quickstart", sink="confluent").sink.connector == "confluent"
    assert chosen("sink/empty", sink="confluent").sink.connector == "empty"
    with pytest.raises(ProfileError) as refusal:
        chosen("quickstart", sink="aiven")
    assert str(refusal.value) == message("--sink", "aiven")


def test_the_accounting_is_one_sentence(message: MakeMessage) -> None:
    """With the verdict at its end."""
    accounting = StreamAccounting(sent=5003, distinct=2003, stored=2003, dead_lettered=0, sampled=1000, problems=())
    assert sentence_of(accounting) == message("5,003", "2,003", 0, "1,000", "verified")


def test_the_heart_beats_whether_something_is_said_or_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """The health check looks at it; a reader gets a line every half minute only."""
    heart = tmp_path / "heart"
    reporter = Reporter(2003, heart)
    reporter.sending(0, 0)
    heart.unlink()
    reporter.waiting(211, 5003)
    assert heart.exists()
    assert capsys.readouterr().out == message(0, "2,003")


def test_kibana_gets_its_objects_and_a_reader_the_addresses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stack Monitoring by the id of the cluster under test, which Kibana does not run on."""
    kibana_answers = ((200, {"version": {"number": "8.19.21"}}), (200, {"success": True, "successCount": 7}))
    with rest(*kibana_answers) as kibana, rest((200, {"cluster_uuid": "FPix"})) as cluster:
        monkeypatch.setenv("SLUICE_ELASTICSEARCH_URLS", cluster.url)
        monkeypatch.setenv("SLUICE_CONNECT_URL", "http://connect:8083")
        monkeypatch.setenv("SLUICE_KAFKA_BOOTSTRAP_SERVERS", "kafka:19092")
        show(kibana=kibana.url, shown_at="http://localhost:5601")
    assert capsys.readouterr().out.splitlines() == [
        "Kibana: 7 objects imported",
        "dashboard:        http://localhost:5601/app/dashboards#/view/sluice-experiment",
        "Stack Monitoring: http://localhost:5601/app/monitoring#/elasticsearch?_g=(cluster_uuid:'FPix',"
        "refreshInterval:(pause:!f,value:10000),time:(from:now-15m,to:now))",
    ]
    assert [request[:2] for request in cluster.requests] == [
        ("GET", "/_cluster/state/version?filter_path=cluster_uuid")
    ]
