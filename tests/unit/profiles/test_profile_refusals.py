"""What a profile is refused for, and in which words."""

import pytest

from lab.errors import ProfileError
from lab.profiles import list_profiles, load_profile
from lab.profiles.problems import MOST_WORDS_LISTED
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository


def test_an_unknown_profile_names_the_nearest(repository: Repository, message: MakeMessage) -> None:
    """Nothing was read, so there is no line to name."""
    assert repository.refusal("bookz") == [message("bookz", "books")]
    assert repository.refusal("../books") == [message("../books")]


def test_an_unknown_profile_that_resembles_none_names_the_command_that_lists_them(repository: Repository) -> None:
    """Of more than a line can hold; `expected a profile` would be no help."""
    for number in range(MOST_WORDS_LISTED):
        repository.write(f"p{number}", "question: What?\n")

    (refusal,) = repository.refusal("zzzz")
    assert refusal == 'unknown profile "zzzz", expected one that `./sluice profiles` lists'


def test_every_problem_is_reported_at_once(repository: Repository, message: MakeMessage) -> None:
    """Each on one line, in the order of the lines, those of the command line last."""
    repository.write(
        "bad",
        """
        question: 7
        dataset:
          name: aladdin
          documents: many
        mapping: aladin.nested.statik
        topic:
          partitions: 0
        producer: fast
        elasticsearch:
          data_nodes: 7
          version: 8.19
        index:
          number_of_shards: 1.5
          refresh_intervall: 1s
        load:
          mode: stream
          timeout_s: soon
        number_of_replicas: 0
        """,
    )
    assert repository.refusal("bad", "sink.connector=elastic", "sampling.interval_s=0") == [
        message("bad.yaml:1: question", 7),
        message("bad.yaml:3: dataset.name", "aladdin", "aladin"),
        message("bad.yaml:4: dataset.documents", "many"),
        message("bad.yaml:5: mapping", "aladin.nested.statik", "aladin.nested.static"),
        message("bad.yaml:7: topic.partitions", 0),
        message("bad.yaml:8: producer", "fast"),
        message("bad.yaml:10: elasticsearch.data_nodes", 7, 6),
        message("bad.yaml:11: elasticsearch.version", 8.19, "8.19.21"),
        message("bad.yaml:13: index.number_of_shards", 1.5),
        message("bad.yaml:14: index.refresh_intervall", "refresh_interval"),
        message("bad.yaml:16: load.rate_docs_per_s"),
        message("bad.yaml:17: load.timeout_s", "soon"),
        message("bad.yaml:18: number_of_replicas", "index.number_of_replicas"),
        message("--set sampling.interval_s", 0),
        message("--set sink.connector", "elastic", "elasticsearch"),
    ]


def test_a_problem_stands_in_the_file_that_causes_it(repository: Repository, message: MakeMessage) -> None:
    """Not in the file that was asked for."""
    repository.write("base", "question: B?\nextends: books\nverify:\n  sample: -1\n")
    repository.write("top", "question: T?\nextends: base\n")
    assert repository.refusal("top") == [message("base.yaml:4: verify.sample", -1, 0)]


def test_missing_sections_are_described(repository: Repository, message: MakeMessage) -> None:
    """The message says what a reader would have to look up."""
    repository.write("bad", "question: What?\n")
    assert repository.refusal("bad") == [message("bad.yaml:1: dataset", "name")]


def test_a_generated_dataset_needs_a_size(repository: Repository, message: MakeMessage) -> None:
    """Nobody wants an endless run by accident."""
    repository.write("bad", "question: What?\ndataset:\n  name: aladin\n")
    assert repository.refusal("bad") == [message("bad.yaml:3: dataset", "documents", "books")]


def test_a_file_needs_a_path(repository: Repository, message: MakeMessage) -> None:
    """The remedy is the option of the command line."""
    assert repository.refusal("books", "dataset.name=file") == [message("--set dataset.name: dataset.path", "--path")]


def test_an_unknown_option_or_model_names_the_nearest(repository: Repository, message: MakeMessage) -> None:
    """Options are those of the dataset that the profile names."""
    assert repository.refusal("books", "dataset.modell=flat", "dataset.model=falt") == [
        message("--set dataset.modell", "aladin", "model"),
        message("--set dataset.model", "falt", "flat"),
    ]


def test_a_part_of_a_name_is_meant_to_be_that_name(repository: Repository, message: MakeMessage) -> None:
    """However similar the letters of another one are."""
    assert repository.refusal("books", "load.rate=5") == [message("--set load.rate", "rate_docs_per_s")]


def test_an_option_has_the_type_and_the_choices_that_its_dataset_declares(
    repository: Repository, message: MakeMessage
) -> None:
    """A wrong one is found before anything starts."""
    assert repository.refusal("books", "dataset.updates=half", "dataset.key_order=random", "dataset.shops_max=2.5") == [
        message("--set dataset.updates", "half"),
        message("--set dataset.key_order", "random", "ascending", "shuffled"),
        message("--set dataset.shops_max", 2.5),
    ]


def test_settings_that_the_run_makes_cannot_be_set(repository: Repository, message: MakeMessage) -> None:
    """A profile that could set them would contradict the run."""
    assert repository.refusal(
        "books",
        "sink.config.tasks.max=2",
        "producer.client.bootstrap.servers=x:1",
        "elasticsearch.node_settings.http.port=9200",
    ) == [
        message("--set sink.config.tasks.max", "sink.tasks"),
        message("--set producer.client.bootstrap.servers"),
        message("--set elasticsearch.node_settings.http.port"),
    ]


def test_settings_of_clients_are_scalars(repository: Repository, message: MakeMessage) -> None:
    """Kafka and Kafka Connect know no lists; theirs are text with commas."""
    assert repository.refusal("books", "sink.config.transforms=[a, b]", "topic.config=fast") == [
        message("--set topic.config", "fast"),
        message("--set sink.config.transforms"),
    ]
    assert repository.refusal("books", "topic.config.retention.ms=1e999") == [
        message("--set topic.config.retention.ms", "1e999")
    ]
    assert repository.load("books", "sink.config.key.ignore=true", "sink.config.linger.ms=5").sink.config == {
        "key.ignore": True,
        "linger.ms": 5,
    }


def test_settings_that_no_kafka_client_takes_are_refused_with_their_lines(
    repository: Repository, message: MakeMessage
) -> None:
    """All of them, in the client's own words and without a broker; what the client takes is passed on."""
    repository.write(
        "bad",
        """
        question: What?
        extends: books
        producer:
          client:
            batch.size: 7919
            lingerms: 5
            acks: 1
            delivery.report.only.error: true
            error_cb: print
        """,
    )
    assert repository.refusal("bad", "producer.client={compression.type: lzz}") == [
        message("bad.yaml:6: producer.client.lingerms"),
        message("bad.yaml:7: producer.client.acks", "all", "enable.idempotence"),
        message("bad.yaml:8: producer.client.delivery.report.only.error"),
        message("bad.yaml:9: producer.client.error_cb"),
        message("--set producer.client: producer.client.compression.type", "lzz", "compression.codec"),
    ]
    taken = {"batch.size": 7919, "enable.idempotence": False, "acks": 1}
    assert (
        repository.load(
            "books", "producer.client={batch.size: 7919, enable.idempotence: false, acks: 1}"
        ).producer.client
        == taken
    )


def test_a_mode_that_there_is_not_is_named_with_its_own_place(repository: Repository, message: MakeMessage) -> None:
    """Not the section around it, which may stand in a file that is right."""
    repository.write("bad", "question: What?\nextends: books\nload:\n  timeout_s: 7\n  mode: strem\n")
    assert repository.refusal("bad") == [message("bad.yaml:5: load.mode", "strem", "drain", "stream")]
    assert repository.refusal("books", "load.mode=strem") == [message("--set load.mode", "strem", "drain", "stream")]
    assert repository.refusal("books", "load.mode=[drain]") == [message("--set load.mode", "drain", "stream")]


@pytest.mark.parametrize(
    ("setting", "value", "facts"),
    [
        ("codec", "best_compresion", ("best_compresion", "default", "best_compression")),
        ("refresh_interval", "5", (5, "5s", -1)),
        ("refresh_interval", "1.5s", ("1.5s", -1)),
        ("translog.sync_interval", "5M", ("5M", "5s")),
        ("translog.durability", "sync", ("sync", "request", "async")),
        ("routing.rebalance.enable", "no one", ("no one", "all", "primaries", "replicas", "none")),
    ],
)
def test_a_value_that_no_elasticsearch_takes_is_refused(
    setting: str, value: str, facts: tuple[object, ...], repository: Repository, message: MakeMessage
) -> None:
    """Before a server is started to find out."""
    assert repository.refusal("books", f"index.{setting}={value}") == [message(f"--set index.{setting}", *facts)]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("codec", "best_compression"),
        ("codec", "Lucene101"),
        ("codec", "zstd_no_dict"),
        ("refresh_interval", "-1"),
        ("refresh_interval", "0"),
        ("refresh_interval", "30S"),
        ("refresh_interval", "500ms"),
        ("translog.durability", "ASYNC"),
        ("routing.allocation.enable", "new_primaries"),
    ],
)
def test_every_value_that_some_server_takes_is_passed_on(setting: str, value: str, repository: Repository) -> None:
    """Those that are only known to the server, too."""
    assert str(repository.load("books", f"index.{setting}={value}").index[setting]) == value


@pytest.mark.parametrize(
    ("overrides", "facts"),
    [
        (("sink.config.use.autogenerated.ids=false",), ("key.ignore: true", "use.autogenerated.ids: true")),
        (("load.via=direct",), ("ready-made",)),
        (("load.mode=query", "load.queries.duration_s=7", "queries.questions=[total-events]"), ("ready-made",)),
    ],
)
def test_an_index_of_time_series_takes_no_ids_of_ours(
    overrides: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Elasticsearch would reject every document."""
    with pytest.raises(ProfileError) as refused:
        load_profile("events/time-series", overrides=overrides)
    assert str(refused.value) == message("events/time-series.yaml:6: index.mode", "time_series", *facts)


def test_the_name_of_a_profile_is_that_of_its_file(repository: Repository, message: MakeMessage) -> None:
    """A profile cannot call itself otherwise, and a hint names the section that has such a key."""
    assert repository.refusal("books", "name=aladin", "load={mode: stream, rate_docs_per_s: 1e999}") == [
        message("--set load: load.rate_docs_per_s", "1e999"),
        message("--set name", "dataset.name"),
    ]


def test_an_override_needs_a_key_and_a_value(repository: Repository, message: MakeMessage) -> None:
    """What it extends decides what a profile is, so that cannot be overridden."""
    assert repository.refusal("books", "index.codec", "=7", "verify.sample=", "extends=books") == [
        message("--set index.codec", "KEY=VALUE"),
        message("--set =7", "KEY=VALUE"),
        message("--set verify.sample"),
        message("--set extends"),
    ]


def test_a_broken_profile_is_listed_with_its_first_problem(repository: Repository, message: MakeMessage) -> None:
    """One broken file does not hide the others."""
    repository.write("bad", "question: [\n")
    assert [tuple(listed) for listed in list_profiles(repository.root)] == [
        ("bad", message("experiments/profiles/bad.yaml:2")),
        ("books", "How fast are books indexed?"),
    ]


def test_a_path_that_does_not_exist_is_refused(repository: Repository, message: MakeMessage) -> None:
    """A name that ends in .yaml is a path."""
    with pytest.raises(ProfileError) as error:
        load_profile("nowhere/mine.yaml", root=repository.root)
    assert str(error.value) == message("nowhere/mine.yaml")


def test_how_to_authenticate_with_kafka_may_be_said_by_the_target(repository: Repository) -> None:
    """A profile that names the mechanism gets its credentials from the target's file."""
    repository.write("books-2", "question: What then?\nextends: books\n")
    settings = "producer.client={security.protocol: SASL_PLAINTEXT, sasl.mechanisms: PLAIN}"
    assert repository.load("books-2", settings).producer.client["sasl.mechanisms"] == "PLAIN"


@pytest.mark.parametrize(
    ("profile", "override", "facts"),
    [
        (
            "events/queries",
            "memory_limit_mb=512",
            (512, "elasticsearch.heap_mb"),
        ),
        (
            "quickstart",
            "memory_limit_mb=1301",
            ("load.mode: query",),
        ),
        (
            "events/ingest-queries",
            "read_iops_limit=503",
            ("load.mode: query",),
        ),
    ],
)
def test_a_bound_that_cannot_hold_is_refused(
    profile: str, override: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The heap alone would fill it, or nothing is asked under it."""
    with pytest.raises(ProfileError) as error:
        load_profile(profile, overrides=[f"elasticsearch.{override}"])
    assert str(error.value) == message(f"--set elasticsearch.{override.partition('=')[0]}", *facts)
