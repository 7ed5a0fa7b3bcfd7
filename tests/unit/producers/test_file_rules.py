"""Where the rules of a form end: what is a search hit, an action line, a number of MongoDB, a string."""

import time
from pathlib import Path

import pytest

from lab.mapping.sample import read_sample
from producers.dataset import DatasetError
from producers.datasets.file import FileDocuments
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage


def dataset_of(path: Path, content: str) -> FileDocuments:
    """The dataset of a file with this content."""
    path.write_bytes(content.encode())
    made = make_dataset("file", path=str(path))
    assert isinstance(made, FileDocuments)
    return made


@pytest.mark.parametrize("key", ["_timestamp", "_ttl", "ttl", "_later"])
def test_old_metadata_is_no_document(tmp_path: Path, key: str) -> None:
    """An action line may have further keys beside those that tell it."""
    content = f'{{"index":{{"_id":"7","{key}":"1d"}}}}\n{{"a":1}}\n'
    assert dataset_of(tmp_path / "file", content).document(0) == b'{"a":1}'


def test_a_document_with_other_names_than_a_hit_keeps_them(tmp_path: Path) -> None:
    """Elasticsearch then says what it thinks of a field `_source`."""
    content = '{"_id":"7","_source":{"a":1},"price":2}\n'
    assert dataset_of(tmp_path / "file", content).document(0) == b'{"_source":{"a":1},"price":2}'


@pytest.mark.parametrize(
    "text", ['{"a":1}\n\ufeff{"a":2}\n', '[{"a":1}]\n\ufeff[{"a":2}]', '\ufeff{"_id":1,"a":1}\n\ufeff{"_id":2,"a":2}']
)
def test_marks_of_files_that_were_joined_are_no_part_of_a_document(tmp_path: Path, text: str) -> None:
    """`cat` puts the second file's mark into the middle."""
    dataset = dataset_of(tmp_path / "file", text)
    assert [dataset.document(number) for number in range(dataset.documents)] == [b'{"a":1}', b'{"a":2}']
    assert read_sample(str(tmp_path / "file"), 10).documents == 2


def test_a_command_names_the_file_as_a_shell_takes_it(tmp_path: Path) -> None:
    """Whatever its name."""
    with pytest.raises(DatasetError, match=r"tar -xf '.*/Bob.*s books' -C documents"):
        dataset_of(tmp_path / "Bob's books", "b".ljust(257, "\0") + "ustar\0")


def test_no_path_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a shell's variable is not set."""
    (tmp_path / "books.json").write_text('{"a":1}')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="path: is empty"):
        make_dataset("file", path="")


def test_an_odd_date_leaves_the_others_plain(tmp_path: Path) -> None:
    """As an object, which is no date."""
    content = '{"a":{"$date":1.5},"b":{"$numberLong":"7"},"c":{"$date":0}}\n'
    assert dataset_of(tmp_path / "file", content).document(0) == (
        b'{"a":{"$date":1.5},"b":7,"c":"1970-01-01T00:00:00.000Z"}'
    )


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ('{"a":1}\n{"a":{"$numberLong":"abc"}}\n', ("file:2", "$numberLong", "number")),
        ('{\n"a": "one\rtwo"\n}', ("file:2", "string")),
        ('{"index":{"_id":1}}\n{"a":1}\n{"index":{"_id":2,"_index":"b"}}\n{"a":2}\n', ("file:4", "index b", "none")),
    ],
    ids=["number", "CR", "index"],
)
def test_what_breaks_a_rule_is_named(
    tmp_path: Path, content: str, facts: tuple[str, ...], message: MakeMessage
) -> None:
    """With the line where it stands."""
    with pytest.raises(DatasetError) as refused:
        dataset_of(tmp_path / "file", content)
    assert str(refused.value).replace(f"{tmp_path}/", "") == message(*facts)


def test_each_byte_of_a_long_string_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A string that spans 4,000 reads takes no time that grows with their square."""
    monkeypatch.setattr("producers.datasets.source.json_text.CHUNK_BYTES", 1 << 9)
    began = time.process_time()
    dataset = dataset_of(tmp_path / "file", '[\n{"a":"%s"}]' % ("x\\n" * 300_000))
    assert dataset.documents == 1
    assert time.process_time() - began < 5


def test_a_sample_has_documents_as_they_are_sent(tmp_path: Path) -> None:
    """Also of a plain file whose first lines stand there as they are sent."""
    path = tmp_path / "file"
    late = '{"a":1,"when":{"$date":"2024-01-02T03:04:05Z"}}\n'
    path.write_text('{"a":1}\n' * 1502 + late * 3000)
    sample = read_sample(str(path), 1000)
    assert not sample.root.children["when"].children


@pytest.mark.parametrize(
    ("target", "path", "facts"),
    [
        ("nothing", "data", ("data/link", "nothing")),
        ("nothing", "data/*", ("data/link", "nothing")),
        (".", "data", ("data/link", "folder")),
    ],
)
def test_a_link_that_leads_to_no_file_is_refused(
    tmp_path: Path, target: str, path: str, facts: tuple[str, ...], message: MakeMessage
) -> None:
    """What a user counts as part of a folder is never left out without a word."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.json").write_text('{"a":1}\n')
    (tmp_path / "data" / "link").symlink_to(tmp_path / target)
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(tmp_path / path))
    assert str(refused.value).replace(f"{tmp_path}/", "") == message(*facts)
