"""What a profile is refused for, and in which words."""

import pytest

from lab.errors import ProfileError
from lab.profiles import list_profiles, load_profile
from tests.unit.profiles.profile_repository import Repository


def test_an_unknown_profile_names_the_nearest(repository: Repository) -> None:
    """Nothing was read, so there is no line to name."""
    assert repository.refusal("bookz") == ['unknown profile "bookz", did you mean `books`?']
    assert repository.refusal("../books") == ['unknown profile "../books", did you mean `books`?']


def test_every_problem_is_reported_at_once(repository: Repository) -> None:
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
        "bad.yaml:1: question: got 7, expected text",
        'bad.yaml:3: dataset.name: unknown dataset "aladdin", did you mean `aladin`?',
        'bad.yaml:4: dataset.documents: got "many", expected a whole number',
        'bad.yaml:5: mapping: unknown mapping "aladin.nested.statik", did you mean `aladin.nested.static`?',
        "bad.yaml:7: topic.partitions: got 0, expected more than 0",
        'bad.yaml:8: producer: got "fast", expected a mapping',
        "bad.yaml:10: elasticsearch.data_nodes: got 7, expected at most 6",
        "bad.yaml:11: elasticsearch.version: got 8.19, expected a version such as 8.19.21",
        "bad.yaml:13: index.number_of_shards: got 1.5, expected a whole number from 1 on",
        "bad.yaml:14: index.refresh_intervall: unknown key, did you mean `refresh_interval`?",
        "bad.yaml:16: load.rate_docs_per_s: missing, expected documents due per second, over all processes or"
        " connections",
        'bad.yaml:17: load.timeout_s: got "soon", expected a number',
        "bad.yaml:18: number_of_replicas: unknown key, did you mean `index.number_of_replicas`?",
        "--set sampling.interval_s: got 0, expected more than 0",
        '--set sink.connector: unknown connector template "elastic", did you mean `elasticsearch`?',
    ]


def test_a_problem_stands_in_the_file_that_causes_it(repository: Repository) -> None:
    """Not in the file that was asked for."""
    repository.write("base", "question: B?\nextends: books\nverify:\n  sample: -1\n")
    repository.write("top", "question: T?\nextends: base\n")
    assert repository.refusal("top") == ["base.yaml:4: verify.sample: got -1, expected at least 0"]


def test_missing_sections_are_described(repository: Repository) -> None:
    """The message says what a reader would have to look up."""
    repository.write("bad", "question: What?\n")
    assert repository.refusal("bad") == ["bad.yaml:1: dataset: missing, expected a section with `name`"]


def test_a_generated_dataset_needs_a_size(repository: Repository) -> None:
    """Nobody wants an endless run by accident."""
    repository.write("bad", "question: What?\ndataset:\n  name: aladin\n")
    assert repository.refusal("bad") == ["bad.yaml:3: dataset: its size is missing, expected `documents` or `books`"]


def test_a_file_needs_a_path(repository: Repository) -> None:
    """The remedy is the option of the command line."""
    assert repository.refusal("books", "dataset.name=file") == [
        "--set dataset.name: dataset.path: missing, expected the file; give it as --path FILE"
    ]


def test_an_unknown_option_or_model_names_the_nearest(repository: Repository) -> None:
    """Options are those of the dataset that the profile names."""
    assert repository.refusal("books", "dataset.modell=flat", "dataset.model=falt") == [
        '--set dataset.modell: unknown key of dataset "aladin", did you mean `model`?',
        '--set dataset.model: unknown model "falt", did you mean `flat`?',
    ]


def test_an_option_has_the_type_and_the_choices_that_its_dataset_declares(repository: Repository) -> None:
    """A wrong one is found before anything starts."""
    assert repository.refusal("books", "dataset.updates=half", "dataset.key_order=random", "dataset.shops_max=2.5") == [
        '--set dataset.updates: got "half", expected a number',
        '--set dataset.key_order: unknown key_order "random", expected a key_order: `ascending`, `shuffled`',
        "--set dataset.shops_max: got 2.5, expected a whole number",
    ]


def test_settings_that_the_run_makes_cannot_be_set(repository: Repository) -> None:
    """A profile that could set them would contradict the run."""
    assert repository.refusal(
        "books",
        "sink.config.tasks.max=2",
        "producer.client.bootstrap.servers=x:1",
        "elasticsearch.node_settings.http.port=9200",
    ) == [
        "--set sink.config.tasks.max: cannot be set here, expected `sink.tasks`",
        "--set producer.client.bootstrap.servers: cannot be set here, expected nothing: the run knows its brokers",
        "--set elasticsearch.node_settings.http.port: cannot be set here, expected nothing: the run creates its nodes",
    ]


def test_settings_of_clients_are_scalars(repository: Repository) -> None:
    """Kafka and Kafka Connect know no lists; theirs are text with commas."""
    assert repository.refusal("books", "sink.config.transforms=[a, b]", "topic.config=fast") == [
        '--set topic.config: got "fast", expected a mapping',
        "--set sink.config.transforms: got a list, expected text, a finite number, true or false",
    ]
    assert repository.refusal("books", "topic.config.retention.ms=1e999") == [
        "--set topic.config.retention.ms: got 1e999, expected text, a finite number, true or false"
    ]
    assert repository.load("books", "sink.config.key.ignore=true", "sink.config.linger.ms=5").sink.config == {
        "key.ignore": True,
        "linger.ms": 5,
    }


def test_settings_that_no_kafka_client_takes_are_refused_with_their_lines(repository: Repository) -> None:
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
        'bad.yaml:6: producer.client.lingerms: rejected by Kafka\'s client: No such configuration property: "lingerms"',
        "bad.yaml:7: producer.client.acks: rejected by Kafka's client: "
        "Failed to create producer: `acks` must be set to `all` when `enable.idempotence` is true",
        "bad.yaml:8: producer.client.delivery.report.only.error: cannot be set, because Sluice counts "
        "acknowledgements by it",
        "bad.yaml:9: producer.client.error_cb: rejected by Kafka's client: "
        "expected error_cb property as a callable function",
        "--set producer.client: producer.client.compression.type: rejected by Kafka's client: "
        'Invalid value "lzz" for configuration property "compression.codec"',
    ]
    taken = {"batch.size": 7919, "enable.idempotence": False, "acks": 1}
    assert (
        repository.load(
            "books", "producer.client={batch.size: 7919, enable.idempotence: false, acks: 1}"
        ).producer.client
        == taken
    )


def test_a_mode_that_there_is_not_is_named_with_its_own_place(repository: Repository) -> None:
    """Not the section around it, which may stand in a file that is right."""
    repository.write("bad", "question: What?\nextends: books\nload:\n  timeout_s: 7\n  mode: strem\n")
    assert repository.refusal("bad") == ['bad.yaml:5: load.mode: got "strem", expected `drain` or `stream`']
    assert repository.refusal("books", "load.mode=strem") == [
        '--set load.mode: got "strem", expected `drain` or `stream`'
    ]
    assert repository.refusal("books", "load.mode=[drain]") == [
        "--set load.mode: got a list, expected `drain` or `stream`"
    ]


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("codec", "best_compresion", 'got "best_compresion", expected `default` or `best_compression`'),
        ("refresh_interval", "5", "got 5, expected a time with its unit, such as `5s`, or -1"),
        ("refresh_interval", "1.5s", 'got "1.5s", expected a time with its unit, such as `5s`, or -1'),
        ("translog.sync_interval", "5M", 'got "5M", expected a time with its unit, such as `5s`'),
        ("translog.durability", "sync", 'got "sync", expected `request` or `async`'),
        ("routing.rebalance.enable", "no one", 'got "no one", expected `all`, `primaries`, `replicas` or `none`'),
    ],
)
def test_a_value_that_no_elasticsearch_takes_is_refused(
    setting: str, value: str, message: str, repository: Repository
) -> None:
    """Before a server is started to find out."""
    assert repository.refusal("books", f"index.{setting}={value}") == [f"--set index.{setting}: {message}"]


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


def test_the_name_of_a_profile_is_that_of_its_file(repository: Repository) -> None:
    """A profile cannot call itself otherwise, and a hint names the section that has such a key."""
    assert repository.refusal("books", "name=aladin", "load={mode: stream, rate_docs_per_s: 1e999}") == [
        "--set load: load.rate_docs_per_s: got 1e999, expected a finite number",
        "--set name: unknown key, did you mean `dataset.name`?",
    ]


def test_an_override_needs_a_key_and_a_value(repository: Repository) -> None:
    """What it extends decides what a profile is, so that cannot be overridden."""
    assert repository.refusal("books", "index.codec", "=7", "verify.sample=", "extends=books") == [
        "--set index.codec: got no value, expected KEY=VALUE",
        "--set =7: got no value, expected KEY=VALUE",
        "--set verify.sample: got nothing, expected a value",
        "--set extends: cannot be set here, expected the name of another profile to run",
    ]


def test_a_broken_profile_is_listed_with_its_first_problem(repository: Repository) -> None:
    """One broken file does not hide the others."""
    repository.write("bad", "question: [\n")
    assert [tuple(listed) for listed in list_profiles(repository.root)] == [
        (
            "bad",
            "cannot be read: experiments/profiles/bad.yaml:2: not YAML: "
            "expected the node content, but found '<stream end>'",
        ),
        ("books", "How fast are books indexed?"),
    ]


def test_a_path_that_does_not_exist_is_refused(repository: Repository) -> None:
    """A name that ends in .yaml is a path."""
    with pytest.raises(ProfileError, match=r"^nowhere/mine\.yaml: no such file, expected a profile$"):
        load_profile("nowhere/mine.yaml", root=repository.root)


def test_how_to_authenticate_with_kafka_may_be_said_by_the_target(repository: Repository) -> None:
    """A profile that names the mechanism gets its credentials from the target's file."""
    repository.write("books-2", "question: What then?\nextends: books\n")
    settings = "producer.client={security.protocol: SASL_PLAINTEXT, sasl.mechanisms: PLAIN}"
    assert repository.load("books-2", settings).producer.client["sasl.mechanisms"] == "PLAIN"


@pytest.mark.parametrize(
    ("profile", "override", "expected"),
    [
        (
            "events/queries",
            "memory_limit_mb=512",
            "memory_limit_mb: got 512, expected more than `elasticsearch.heap_mb`, which is 512",
        ),
        (
            "quickstart",
            "memory_limit_mb=1301",
            "memory_limit_mb: got a bound for query-only loads, expected none, or `load.mode: query`",
        ),
        (
            "events/ingest-queries",
            "read_iops_limit=503",
            "read_iops_limit: got a bound for query-only loads, expected none, or `load.mode: query`",
        ),
    ],
)
def test_a_bound_that_cannot_hold_is_refused(profile: str, override: str, expected: str) -> None:
    """The heap alone would fill it, or nothing is asked under it."""
    with pytest.raises(ProfileError) as error:
        load_profile(profile, overrides=[f"elasticsearch.{override}"])
    assert str(error.value) == f"--set elasticsearch.{expected}"
