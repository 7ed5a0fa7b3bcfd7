"""What a profile inherits, what it takes back, and what the command line changes."""

from pathlib import Path

import pytest

from lab.extensions import PIPELINES, Pipeline
from lab.profiles import Direct, Rally, effective, load_profile, override
from lab.profiles.models import Drain, Recorded
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository


def test_mappings_are_merged_and_lists_replaced(repository: Repository) -> None:
    """A profile states only what differs."""
    repository.write("sorted", "question: Sorted?\nextends: books\nindex: {sort.field: [title, isbn]}\n")
    repository.write("other", "question: Other?\nextends: sorted\nindex: {sort: {field: [isbn]}}\n")
    assert dict(repository.load("other").index) == {
        "number_of_shards": 1,
        "translog.durability": "request",
        "sort.field": ["isbn"],
    }


def test_an_index_setting_is_the_same_dotted_nested_or_prefixed(repository: Repository) -> None:
    """Whatever notation a layer uses, it replaces the same setting."""
    repository.write("async", "question: Async?\nextends: books\nindex: {index.translog.durability: async}\n")
    assert repository.load("async").index["translog.durability"] == "async"


def test_a_question_is_not_inherited(repository: Repository, message: MakeMessage) -> None:
    """A profile that differs answers another question."""
    repository.write("silent", "extends: books\n")
    assert repository.refusal("silent") == [message("silent.yaml:1: question")]


def test_null_takes_back_what_is_inherited(repository: Repository) -> None:
    """The setting is then Elasticsearch's own default, as null means to Elasticsearch."""
    repository.write("fewer", "question: Fewer?\nextends: books\nindex: {translog.durability: null}\n")
    assert dict(repository.load("fewer").index) == {"number_of_shards": 1}


def test_a_circle_of_profiles_is_refused(repository: Repository, message: MakeMessage) -> None:
    """The whole circle is named."""
    repository.write("a", "question: A?\nextends: b\n")
    repository.write("b", "question: B?\nextends: a\n")
    assert repository.refusal("a") == [message("b.yaml:2: extends")]


def test_extending_an_unknown_profile_names_the_nearest(repository: Repository, message: MakeMessage) -> None:
    """Nothing is reported as missing that the unknown profile might have held."""
    repository.write("a", "question: A?\nextends: bokos\nverify: {sampel: 5}\n")
    assert repository.refusal("a") == [
        message("a.yaml:2: extends", "bokos", "books"),
        message("a.yaml:3: verify.sampel", "sample"),
    ]


def test_documents_and_books_replace_each_other(repository: Repository, message: MakeMessage) -> None:
    """The nearer way to state the size wins; two in one file contradict each other."""
    repository.write("by-book", "question: Books?\nextends: books\ndataset: {books: 13}\n")
    assert repository.load("by-book").dataset.documents is None
    assert repository.load("by-book", "dataset.documents=17").dataset.books is None
    repository.write("both", "question: Both?\nextends: books\ndataset:\n  books: 13\n  documents: 17\n")
    assert repository.refusal("both") == [message("both.yaml:4: dataset.books", "documents")]


def test_a_direct_load_drops_what_belongs_to_kafka(repository: Repository, message: MakeMessage) -> None:
    """Topic, producer, sink and rate of what it extends mean nothing to it; its own would be a contradiction."""
    repository.write(
        "paced",
        """
        question: P?
        extends: books
        topic: {partitions: 7}
        sink: {tasks: 3}
        load: {mode: stream, rate_docs_per_s: 100, timeout_s: 97}
        """,
    )
    repository.write("direct", "question: D?\nextends: paced\nload: {via: direct, connections: 3}\n")
    direct = repository.load("direct")
    assert isinstance(direct.load, Direct)
    assert (direct.load.mode, direct.load.connections, direct.load.timeout_s) == ("drain", 3, 97)
    assert (direct.topic.partitions, direct.sink.tasks) == (1, 1)
    assert repository.load("direct", "load.via=kafka").load == Drain(timeout_s=97)
    assert repository.refusal("direct", "sink.tasks=3") == [message("--set sink.tasks: sink", "via: kafka")]


def test_a_command_takes_the_place_of_a_connector_and_back(repository: Repository, message: MakeMessage) -> None:
    """What is inherited of the other goes; what stands beside it is refused."""
    repository.write("tuned", "question: T?\nextends: books\nsink: {tasks: 3, config: {batch.size: 7}}\n")
    repository.write("piped", "question: P?\nextends: tuned\nsink: {command: [cat, '${topic}']}\n")
    piped = repository.load("piped").sink
    assert (piped.command, piped.tasks, piped.config) == (["cat", "${topic}"], 1, {})
    back = repository.load("piped", "sink.connector=elasticsearch").sink
    assert (back.command, back.connector) == (None, "elasticsearch")
    assert repository.refusal("piped", "sink.tasks=3", "sink.command=[]") == [
        message("--set sink.command"),
        message("--set sink.tasks", "sink.command"),
    ]
    assert repository.refusal("piped", "sink.command=cat") == [message("--set sink.command", "cat")]


def test_a_pipeline_takes_the_place_of_a_connector_or_a_command(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """It has settings of its own; what stands beside it is refused."""
    monkeypatch.setattr(PIPELINES, "built_in", {"copy": Pipeline})
    repository.write("tuned", "question: T?\nextends: books\nsink: {tasks: 3, config: {batch.size: 7}}\n")
    repository.write("piped", "question: P?\nextends: tuned\nsink: {pipeline: copy, config: {batch.documents: 11}}\n")
    piped = repository.load("piped").sink
    assert (piped.pipeline, piped.tasks, piped.config) == ("copy", 1, {"batch.documents": 11})
    other = repository.load("piped", "sink.command=[cat]").sink
    assert (other.pipeline, other.command, other.config) == (None, ["cat"], {})
    assert repository.load("piped", "sink.connector=elasticsearch").sink.is_connector
    assert repository.refusal("piped", "sink.pipeline=copi", "sink.plugin_path=/p") == [
        message("--set sink.plugin_path", "sink.pipeline"),
        message("--set sink.pipeline", "copi", "copy"),
    ]


def test_a_profile_without_a_pipeline_is_recorded_as_before(repository: Repository) -> None:
    """Its fingerprint must not change with what it does not ask for."""
    assert "pipeline" not in repository.load("books").model_dump(mode="json")["sink"]


def test_a_load_through_rally_drops_what_others_have(repository: Repository, message: MakeMessage) -> None:
    """And the other way round; what both have stays."""
    repository.write("direct", "question: D?\nextends: books\nload: {via: direct, connections: 3, timeout_s: 97}\n")
    repository.write("rally", "question: R?\nextends: direct\nload: {via: rally, bulk_size: 101}\n")
    assert repository.load("rally").load == Rally(via="rally", bulk_size=101, timeout_s=97)
    assert repository.load("rally", "load.via=direct").load == Direct(via="direct", timeout_s=97)
    assert repository.load("rally", "load.via=kafka").load == Drain(timeout_s=97)
    assert repository.refusal("direct", "load.clients=3") == [message("--set load.clients", "via: rally")]
    assert repository.refusal("rally", "topic.partitions=3", "verify.expect=consumed") == [
        message("--set topic.partitions: topic", "via: kafka"),
        message("--set verify.expect", "stored"),
    ]


def test_only_a_direct_load_has_connections(repository: Repository, message: MakeMessage) -> None:
    """A setting that would do nothing is refused, and so is a way that there is not."""
    assert repository.refusal("books", "load.connections=3") == [message("--set load.connections", "via: direct")]
    assert repository.refusal("books", "load.via=directly") == [
        message("--set load.via", "directly", "kafka", "direct", "rally")
    ]
    assert repository.refusal("books", "load={via: direct, mode: stream, connections: 0}") == [
        message("--set load: load.mode", "stream"),
        message("--set load: load.connections", 0),
    ]


@pytest.mark.parametrize(
    ("load", "setting", "remedies"),
    [
        ("{mode: query}", "load.warm_up_documents=5", ("mode: drain", "via: kafka")),
        ("{via: direct}", "load.warm_up_documents=5", ("mode: drain", "via: kafka")),
        ("{mode: drain}", "load.queries={}", ("mode: stream", "mode: query")),
        ("{mode: drain}", "load.stages=[{}]", ("mode: stream",)),
    ],
)
def test_a_setting_of_other_loads_is_refused_with_those_that_have_it(
    repository: Repository, message: MakeMessage, load: str, setting: str, remedies: tuple[str, ...]
) -> None:
    """The refused key itself is no suggestion."""
    told = repository.refusal("books", f"load={load}", setting)
    assert message(f"--set {setting.partition('=')[0]}", *remedies) in told


def test_a_drain_drops_an_inherited_rate(repository: Repository, message: MakeMessage) -> None:
    """A rate is meaningless to a drain, but one that stands beside it is a contradiction."""
    repository.write("paced", "question: P?\nextends: books\nload: {mode: stream, rate_docs_per_s: 100}\n")
    assert repository.load("paced", "load.mode=drain").load.rate_docs_per_s is None
    repository.write("torn", "question: T?\nextends: books\nload:\n  mode: drain\n  rate_docs_per_s: 100\n")
    assert repository.refusal("torn") == [message("torn.yaml:5: load.rate_docs_per_s", "mode: stream")]


def test_a_rate_and_a_pace_replace_each_other(repository: Repository, message: MakeMessage) -> None:
    """A stream has one of them; a drain has neither."""
    repository.write("paced", "question: P?\nextends: books\nload: {mode: stream, pace: recorded}\n")
    assert repository.load("paced", "load.rate_docs_per_s=100").load.rate_docs_per_s == 100
    repository.write("even", "question: E?\nextends: books\nload: {mode: stream, rate_docs_per_s: 100}\n")
    load = repository.load("even", "load.pace=2x").load
    assert isinstance(load, Recorded)
    assert (load.speed, load.rate_docs_per_s) == (2.0, None)
    assert repository.load("paced", "load.mode=drain").load == Drain()
    repository.write(
        "torn", "question: T?\nextends: books\nload:\n  mode: stream\n  pace: recorded\n  rate_docs_per_s: 100\n"
    )
    assert repository.refusal("torn") == [message("torn.yaml:6: load.rate_docs_per_s", "pace")]
    assert repository.refusal("books", "load.pace=2x") == [message("load.pace", "mode: stream")]


@pytest.mark.parametrize("pace", ["2", "0x", "-1x", "nanx", "infx", "x", "fast"])
def test_a_pace_is_recorded_or_a_multiple_of_that(repository: Repository, message: MakeMessage, pace: str) -> None:
    """A bare number would look like a rate."""
    assert repository.refusal("books", "load.mode=stream", f"load.pace={pace}") == [message("load.pace", "recorded")]


def test_the_command_line_wins_over_every_file(repository: Repository) -> None:
    """The last override of a key wins over the ones before."""
    profile = repository.load("books", "index.number_of_replicas=3", "index.number_of_replicas=0")
    assert profile.number_of_replicas == 0
    assert profile.where["index.number_of_replicas"] == "--set"


def test_dotted_names_of_other_systems_can_be_overridden(repository: Repository) -> None:
    """Below a verbatim section the rest of the key is one name."""
    profile = repository.load("books", "sink.config.batch.size=500", "topic.config.retention.ms=-1")
    assert dict(profile.sink.config) == {"batch.size": 500}
    assert dict(profile.topic.config) == {"retention.ms": -1}


def test_another_dataset_drops_what_only_the_old_one_has(repository: Repository) -> None:
    """Options and the mapping of the file were chosen for its dataset."""
    profile = repository.load("books", "dataset.name=events")
    assert "model" not in profile.dataset.options
    assert (profile.mapping, profile.dataset.documents) == ("events.static", 1009)


def test_a_file_needs_no_size(repository: Repository) -> None:
    """A size that was stated for generated documents does not cut a file short."""
    profile = repository.load("books", "dataset.name=file", "dataset.path=my.ndjson", "dataset.key=isbn13")
    assert (profile.dataset.options["path"], profile.dataset.options["key"]) == ("my.ndjson", "isbn13")
    assert (profile.mapping, profile.dataset.documents) == ("dynamic", None)


def test_what_the_command_line_says_of_the_new_dataset_is_kept(repository: Repository, message: MakeMessage) -> None:
    """An option that the new dataset lacks is then an error, and a mapping that was asked for is used."""
    assert repository.load("books", "mapping=dynamic", "dataset.name=events").mapping == "dynamic"
    assert repository.refusal("books", "dataset.path=x", "dataset.name=events") == [
        message(
            "--set dataset.path",
            "events",
            "documents",
            "interval_us",
            "key_order",
            "name",
            "payload_chars",
            "seed",
            "start",
            "time_field",
        )
    ]


def test_another_model_brings_its_own_mapping(repository: Repository) -> None:
    """A nested mapping does not fit flat documents."""
    assert repository.load("books", "dataset.model=flat").mapping == "aladin.flat.static"
    assert repository.load("books", "dataset.model=nested").mapping == "aladin.nested.static"


def test_an_override_holds_any_text(repository: Repository) -> None:
    """The path of a file is text, whatever YAML would make of it."""
    awkward = "no: #1 'é'.ndjson"
    profile = repository.load(
        "books", override("dataset.name", "file"), override("dataset.path", awkward), override("dataset.key", "no")
    )
    assert (profile.dataset.options["path"], profile.dataset.options["key"]) == (awkward, "no")


def test_effective_tells_where_each_value_comes_from(repository: Repository) -> None:
    """A default, a line of a file, or the command line."""
    repository.write("more", "question: More?\nextends: books\nindex:\n  number_of_shards: 2\n")
    values = {value.key: value[1:] for value in effective(repository.load("more", "topic.partitions=3"))}
    assert values["question"] == ("More?", "experiments/profiles/more.yaml:1")
    assert values["dataset.documents"] == (1009, "experiments/profiles/books.yaml:5")
    assert values["index.number_of_shards"] == (2, "experiments/profiles/more.yaml:4")
    assert values["index.translog.durability"] == ("request", "experiments/profiles/books.yaml:10")
    assert values["topic.partitions"] == (3, "--set")
    assert values["sink.tasks"] == (1, "default")


def test_a_profile_may_lie_anywhere(repository: Repository, tmp_path: Path) -> None:
    """A path that ends in .yaml is a file; it may extend the profiles of the repository and its neighbours."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "base.yaml").write_text("question: B?\nextends: books\nindex: {codec: best_compression}\n")
    (folder / "mine.yaml").write_text("question: M?\nextends: base.yaml\n")
    profile = load_profile(str(folder / "mine.yaml"), root=repository.root)
    assert (profile.name, profile.index["codec"]) == ("mine", "best_compression")


def test_opensearch_and_a_version_of_elasticsearch_replace_each_other(repository: Repository) -> None:
    """The nearer choice of an engine wins; the one that does not run is written nowhere."""
    repository.write("nine", "question: Nine?\nextends: books\nelasticsearch: {version: 9.0.0, heap_mb: 389}\n")
    repository.write("open", "question: Open?\nextends: nine\nopensearch: 3.0.0\n")
    chosen = repository.load("open")
    assert (str(chosen.release), chosen.elasticsearch.heap_mb) == ("OpenSearch 3.0.0", 389)
    assert {"opensearch", "elasticsearch.heap_mb"} <= {value.key for value in effective(chosen)}
    assert "elasticsearch.version" not in {value.key for value in effective(chosen)}
    assert str(repository.load("open", "elasticsearch.version=9.5.3").release) == "Elasticsearch 9.5.3"
    assert str(repository.load("open", "opensearch=null").release) == "Elasticsearch 8.19.21"
    assert "opensearch" not in repository.load("nine").model_dump()


def test_two_engines_in_one_layer_contradict_each_other(repository: Repository, message: MakeMessage) -> None:
    """In a file, or on the command line."""
    repository.write("both", "question: Both?\nextends: books\nopensearch: 3.0.0\nelasticsearch: {version: 9.0.0}\n")
    assert repository.refusal("both") == [message("both.yaml:3: opensearch", "elasticsearch.version")]
    assert repository.refusal("books", "elasticsearch.version=9.0.0", "opensearch=3.0.0") == [
        message("--set opensearch", "elasticsearch.version")
    ]
    assert repository.refusal("books", "opensearch=3") == [message("--set opensearch", 3, "3.0.0")]


def test_index_settings_are_those_of_the_engine(repository: Repository, message: MakeMessage) -> None:
    """OpenSearch has some that Elasticsearch lacks, and the other way round."""
    repository.load("books", "opensearch=3.0.0", "index.codec.compression_level=3")
    assert repository.refusal("books", "index.codec.compression_level=3") == [
        message("--set index.codec.compression_level")
    ]
    assert repository.refusal("books", "opensearch=2.19.1", "index.lifecycle.name=hot") == [
        message("--set index.lifecycle.name")
    ]
    assert repository.refusal("books", "opensearch=2.19.1", "index.blocks.search_only=true") == [
        message("--set index.blocks.search_only", "2.19.1", "3.0.0")
    ]
