"""Corpora of Rally's tracks and of OpenSearch Benchmark's workloads: where their files are, and how many documents."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from producers.dataset import DatasetError
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

ACTIONS = b'{"index":{"_id":"7"}}\n{"a":1}\n{"index":{"_id":"8"}}\n{"a":2}\n'
TRACK = """\
{% import "rally.helpers" as rally with context %}
{% if not size %}{% set size = 2 %}{% endif %}
{
  "version": {{ version }},
  "indices": [{"name": "books", "body": {{ days_ago(now) + 1 | unheard_of(7) }}}],
  "corpora": [
    {
      "name": "books",
      "base-url": "https://example.org/corpora/",
      "documents": [
        {"source-file": "documents.json.bz2", "document-count": {{ size }}, "includes-action-and-meta-data": true}
      ]
    }
  ],
  "challenges": [{{ rally.collect(parts="challenges/*.json") }}]
  {{ rally.exists_set_param("x", y, default_value=3) }}
}
"""
SECOND = '{"name": "shops", "documents": [{"source-file": "shops.json", "document-count": 1}]}, {"name": "books",'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without files of Rally, and a track beside it."""
    for name in ("RALLY_HOME", "BENCHMARK_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "track.json").write_text(TRACK)
    return tmp_path / "home"


def keys(path: Path | str, documents: int | None = None) -> list[bytes]:
    """The keys of a dataset."""
    dataset = make_dataset("file", path=str(path), documents=documents)
    return list(dataset.keys(np.arange(dataset.documents)))


def refusal(path: Path | str, folder: Path) -> str:
    """Why a track is refused, without its folder."""
    with pytest.raises(DatasetError) as refused:
        keys(path)
    return str(refused.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("track/documents.json.bz2", bz2.compress(ACTIONS)),
        ("track/documents.json", ACTIONS),
        ("home/.rally/benchmarks/data/books/documents.json.bz2", bz2.compress(ACTIONS)),
        ("home/.benchmark/benchmarks/data/books/documents.json", ACTIONS),
    ],
)
def test_a_corpus_lies_beside_its_track_or_in_the_cache(tmp_path: Path, home: Path, place: str, content: bytes) -> None:
    """Packed or unpacked, as Rally looks for it; parameters and helpers that only Rally knows do not matter."""
    assert home.name == "home"
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(content)
    assert keys(tmp_path / "track" / "track.json") == keys(tmp_path / "track") == [b"7", b"8"]


def test_the_cache_is_where_rally_is_told(tmp_path: Path, home: Path) -> None:
    """By `local.dataset.cache` of its settings."""
    (home / ".rally").mkdir(parents=True)
    (home / ".rally" / "rally.ini").write_text(f"[benchmarks]\nlocal.dataset.cache = {tmp_path}/cache\n")
    (tmp_path / "cache" / "books").mkdir(parents=True)
    (tmp_path / "cache" / "books" / "documents.json").write_bytes(ACTIONS)
    assert keys(tmp_path / "track") == [b"7", b"8"]


def test_a_corpus_that_is_not_there_is_named_with_its_url(tmp_path: Path, home: Path, message: MakeMessage) -> None:
    """And with the folders in which it was looked for."""
    assert refusal(tmp_path / "track", tmp_path) == message(
        "track/track.json", "https://example.org/corpora/documents.json.bz2", home.name
    )


def test_a_corpus_has_as_many_documents_as_its_track_says(tmp_path: Path, home: Path, message: MakeMessage) -> None:
    """Action lines are not counted; the first documents alone can be asked for."""
    assert home.name == "home"
    (tmp_path / "track" / "documents.json").write_bytes(ACTIONS + ACTIONS)
    assert keys(tmp_path / "track", documents=3) == [b"7", b"8", b"7"]
    assert refusal(tmp_path / "track", tmp_path) == message("track/documents.json", 4, 2, "track/track.json")


def test_one_of_several_corpora_is_chosen(tmp_path: Path, home: Path, message: MakeMessage) -> None:
    """Often they are the same documents in another form, so that all of them would be none's load."""
    assert home.name == "home"
    track = tmp_path / "track" / "track.json"
    track.write_text(TRACK.replace('{\n      "name": "books",', SECOND))
    (tmp_path / "track" / "documents.json").write_bytes(ACTIONS)
    assert keys(f"{track}#books") == keys(f"{track.parent}#books") == [b"7", b"8"]
    assert refusal(track, tmp_path) == message("track/track.json", "shops, books", "track/track.json#NAME")
    assert refusal(f"{track}#novels", tmp_path) == message("track/track.json", "novels", "books")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('{"version": 2}', ("corpora",)),
        ('{"corpora": []}', ("corpora",)),
        ('{"corpora": [{"name": "a", "documents": [{"source-file": "a.json"}]}]}', ("document-count",)),
        ('{"corpora": [{,}]}', ("corpora", "JSON")),
        ("{% for %}", ("rendered",)),
    ],
)
def test_a_track_that_does_not_serve_is_refused(
    tmp_path: Path, home: Path, text: str, facts: tuple[str, ...], message: MakeMessage
) -> None:
    """In one sentence."""
    assert home.name == "home"
    (tmp_path / "track" / "track.json").write_text(text)
    assert refusal(tmp_path / "track", tmp_path) == message("track/track.json", *facts)
