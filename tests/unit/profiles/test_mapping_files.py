"""From a mapping file to the body that creates an index."""

from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.mapping import index_body, load_mapping
from tests.unit.messages import MakeMessage


def _written(root: Path, text: str) -> Path:
    (root / "mappings").mkdir()
    (root / "mappings" / "books.json").write_text(text, encoding="utf-8")
    return root


def test_the_settings_of_the_profile_win_over_those_of_the_file() -> None:
    """Both may use any notation; the request has dotted names."""
    mapping = {"settings": {"index": {"codec": "default", "refresh_interval": "30s"}, "index.priority": 1}}
    assert index_body(mapping, {"refresh_interval": "1s", "number_of_shards": 2}, lambda _: True) == {
        "settings": {"index": {"codec": "default", "refresh_interval": "1s", "priority": 1, "number_of_shards": 2}},
        "mappings": {},
    }


@pytest.mark.parametrize(
    ("available", "chosen"),
    [
        ({"nori", "cjk", "standard"}, "nori"),
        ({"cjk", "standard"}, "cjk"),
        ({"standard"}, "standard"),
        (set(), "standard"),
    ],
)
def test_the_first_analyser_that_the_target_has_is_taken(available: set[str], chosen: str) -> None:
    """The mapping keeps its own name for it."""
    mappings = {"properties": {"title": {"type": "text", "analyzer": "korean_text"}}}
    mapping = {"text_analyzers": {"korean_text": ["nori", "cjk", "standard"]}, "mappings": mappings}
    assert index_body(mapping, {}, available.__contains__) == {
        "settings": {"index": {"analysis.analyzer.korean_text.type": chosen}},
        "mappings": mappings,
    }


def test_a_profile_may_choose_the_analyser() -> None:
    """Its index settings win here, too."""
    mapping = {"text_analyzers": {"korean_text": ["nori"]}}
    body = index_body(mapping, {"analysis.analyzer.korean_text.type": "whitespace"}, bool)
    assert body["settings"]["index"] == {"analysis.analyzer.korean_text.type": "whitespace"}


def test_an_unknown_mapping_names_the_nearest(tmp_path: Path, message: MakeMessage) -> None:
    """The name is that of a file of mappings/, without .json."""
    with pytest.raises(ProfileError) as error:
        load_mapping("bookz", _written(tmp_path, "{}"))
    assert str(error.value) == message("bookz", "books")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('{"mappings":\n}', ("mappings/books.json:2", 1, 13)),
        ("\r\n", ("mappings/books.json", "settings")),
        ("[]", ("mappings/books.json", "settings")),
        ('{"mapping": {}}', ("mappings/books.json: mapping",)),
        ('{"settings": []}', ("mappings/books.json: settings", "[]")),
        (
            '{"text_analyzers": {"korean_text": "nori"}}',
            ("mappings/books.json: text_analyzers.korean_text", "nori"),
        ),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(
    tmp_path: Path, text: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before any index is created."""
    with pytest.raises(ProfileError) as caught:
        load_mapping("books", _written(tmp_path, text))
    assert str(caught.value) == message(*facts)


@pytest.mark.parametrize(
    "name", ["quickstart", "aladin/control", "aladin/flat", "events/static", "events/no-doc-values"]
)
def test_the_mapping_of_a_profile_makes_an_index_body(name: str) -> None:
    """With the profile's shards, and a mapping of its dataset."""
    profile = load_profile(name)
    body = index_body(load_mapping(profile.mapping), profile.index, {"standard"}.__contains__)
    assert body["settings"]["index"]["number_of_shards"] == profile.number_of_shards
    assert body["mappings"]["properties"]
