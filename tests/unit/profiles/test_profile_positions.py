"""What is wrong with the notation of a file, and on which line."""

import pytest

from lab.errors import ProfileError
from lab.profiles.loader import overridden
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

HEAD = "question: What?\ndataset: {name: events, documents: 7}\n"


def test_yaml_that_is_none_names_the_line(repository: Repository, message: MakeMessage) -> None:
    """A syntax error is one line, where the parser stopped."""
    repository.write("bad", HEAD + "load: {mode: drain\nverify: 7\n")
    assert repository.refusal("bad") == [message("bad.yaml:4")]


def test_an_empty_file_is_named(repository: Repository, message: MakeMessage) -> None:
    """There is no profile in nothing."""
    repository.write("bad", "# nothing yet\n")
    assert repository.refusal("bad") == [message("bad.yaml:1")]


def test_a_list_is_no_profile(repository: Repository, message: MakeMessage) -> None:
    """A profile is a mapping."""
    repository.write("bad", "- question: What?\n")
    assert repository.refusal("bad") == [message("bad.yaml:1")]


def test_a_key_given_twice_is_an_error(repository: Repository, message: MakeMessage) -> None:
    """YAML parsers keep the last one silently; the author may have meant the first."""
    repository.write("bad", HEAD + "mapping: dynamic\nverify: {sample: 5}\nmapping: events.static\n")
    assert repository.refusal("bad") == [message("bad.yaml:5: mapping", 3)]


def test_a_setting_given_dotted_and_nested_is_an_error(repository: Repository, message: MakeMessage) -> None:
    """Both notations name the same setting."""
    repository.write("bad", HEAD + "index:\n  translog.durability: async\n  translog:\n    durability: request\n")
    assert repository.refusal("bad") == [message("bad.yaml:6: index.translog.durability", 4)]


def test_words_that_yaml_may_read_as_booleans_are_refused(repository: Repository, message: MakeMessage) -> None:
    """`no` is false to some readers and text to others, so the author has to say which."""
    repository.write("bad", HEAD + "sink:\n  config:\n    key.ignore: yes\n    write.method: off\n")
    assert repository.refusal("bad") == [
        message("bad.yaml:5: sink.config.key.ignore", 1.1, 1.2, "yes"),
        message("bad.yaml:6: sink.config.write.method", 1.1, 1.2, "off"),
    ]


def test_dates_and_odd_numbers_are_refused(repository: Repository, message: MakeMessage) -> None:
    """Sexagesimal and octal numbers surprise everyone."""
    repository.write("bad", HEAD + "index:\n  codec: 2024-01-01\n  refresh_interval: 1:30\n  priority: 010\n")
    assert repository.refusal("bad") == [
        message("bad.yaml:4: index.codec", "2024-01-01", 1.1, 1.2),
        message("bad.yaml:5: index.refresh_interval", "1:30"),
        message("bad.yaml:6: index.priority", "010"),
    ]


def test_quotes_make_text_of_anything(repository: Repository) -> None:
    """A quoted word is what it says."""
    repository.write("good", HEAD + 'sink:\n  config:\n    write.method: "no"\n    batch.size: "010"\n')
    assert dict(repository.load("good").sink.config) == {"write.method": "no", "batch.size": "010"}


def test_tags_are_refused(repository: Repository, message: MakeMessage) -> None:
    """A profile is data; nothing in it makes objects."""
    repository.write("bad", HEAD + "mapping: !!python/object:os.system x\nverify: !mine {sample: 5}\n")
    assert repository.refusal("bad") == [
        message("bad.yaml:3: mapping", "python/object:os.system"),
        message("bad.yaml:4: verify"),
    ]


def test_anchors_and_merge_keys_work(repository: Repository) -> None:
    """What stands beside `<<` wins over what it brings in."""
    repository.write(
        "good",
        """
        question: What?
        dataset: &size {name: events, documents: 7}
        sink:
          config: &limits {batch.size: 500, linger.ms: 5}
        producer:
          client: {<<: *limits, linger.ms: 10}
        """,
    )
    assert dict(repository.load("good").producer.client) == {"batch.size": 500, "linger.ms": 10}


def test_an_alias_that_contains_itself_is_refused(repository: Repository, message: MakeMessage) -> None:
    """A circle is no tree; it is reported where its anchor stands."""
    repository.write("bad", HEAD + "index: &all\n  analysis: *all\n")
    assert repository.refusal("bad") == [message("bad.yaml:3: index.analysis")]


def test_a_key_without_a_value_is_refused(repository: Repository, message: MakeMessage) -> None:
    """An empty value is more likely forgotten than meant; `null` says that it is meant."""
    repository.write("bad", HEAD + "index:\n  refresh_interval:\n")
    assert repository.refusal("bad") == [message("bad.yaml:4: index.refresh_interval", "null")]


def test_bytes_that_are_no_text_are_refused(repository: Repository, message: MakeMessage) -> None:
    """Profiles are UTF-8."""
    repository.write("bad", "").write_bytes(b"question: \xff\n")
    assert repository.refusal("bad") == [message("bad.yaml", "UTF-8", "0xff", 10)]


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory(
    repository: Repository, message: MakeMessage
) -> None:
    """Ten lines of them are three billion values."""
    levels = ["  - &a0 [x, x]", *(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 11))]
    repository.write("bad", "\n".join(["question: How?", "index:", "  sort.field:", *levels]))
    assert repository.refusal("bad") == [message("bad.yaml:1", "20,000")]


def test_a_key_with_too_many_levels_is_refused(message: MakeMessage) -> None:
    """With a sentence on the command line, and for a browser."""
    with pytest.raises(ProfileError) as error:
        overridden(["x." * 1500 + "x=1"])
    assert str(error.value) == message("--set", "1,501", 20)


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "[" * 3000])
def test_a_value_that_is_too_deep_is_refused(repository: Repository, text: str, message: MakeMessage) -> None:
    """Whole or not: no Python stack holds it."""
    repository.write("bad", f"question: How?\nindex: {text}")
    assert repository.refusal("bad") == [message("bad.yaml:1")]
