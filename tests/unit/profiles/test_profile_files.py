"""Files of every odd kind, in the places where profiles, suites, mappings and connector templates stand."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.suites import load_suite
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

PROFILE = b"question: What?\nextends: books\n"


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that this process must not look into, which root first has to become somebody else for."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "closed"
        folder.mkdir()
        (folder / "mine.yaml").write_bytes(PROFILE)
        folder.chmod(0)
        Path(root).chmod(0o755)
        os.seteuid(user or 65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o700)


def refusal(path: Path, repository: Repository) -> str:
    """Why the profile at a path is refused, without the folder."""
    with pytest.raises(ProfileError) as caught:
        load_profile(str(path), root=repository.root)
    return str(caught.value).removeprefix(f"{path.parent}/").removeprefix(f"{path.parent.name}/")


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + PROFILE, PROFILE.replace(b"\n", b"\r\n")], ids=["mark", "CRLF"])
def test_what_other_editors_write_is_read(content: bytes, repository: Repository) -> None:
    """A byte order mark and CRLF say nothing, in YAML as in JSON."""
    path = repository.root / "mine.yaml"
    path.write_bytes(content)
    for name in ("mappings/aladin.nested.static.json", "connect/connectors/elasticsearch.json"):
        (repository.root / name).write_bytes(content[:3].replace(b"que", b"") + b"{\r\n}")
    assert load_profile(str(path), root=repository.root).question == "What?"


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"", ("mine.yaml:1",)),
        (b"question: \xc3(\n", ("mine.yaml", "UTF-8", "0xc3", 10)),
        (None, ("mine.yaml",)),
    ],
)
def test_a_profile_that_cannot_be_read_is_one_sentence(
    content: bytes | None, facts: tuple[object, ...], repository: Repository, message: MakeMessage
) -> None:
    """The file, and what is wrong with it."""
    path = repository.root / "mine.yaml"
    path.mkdir() if content is None else path.write_bytes(content)
    assert refusal(path, repository) == message(*facts)


def test_a_folder_that_may_not_be_looked_into_is_no_missing_file(closed: Path) -> None:
    """Nor a traceback, be it a profile or a suite."""
    for load in (load_profile, load_suite):
        with pytest.raises(ProfileError) as caught:
            load(str(closed / "mine.yaml"), root=closed.parent)
        assert str(caught.value) == "closed/mine.yaml: cannot be read: Permission denied"


@pytest.mark.parametrize("name", ["mappings/aladin.nested.static.json", "connect/connectors/elasticsearch.json"])
@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"{\n", (2, 1)),
        (b"\xff", ("UTF-8", "0xff", 0)),
        (None, ()),
    ],
)
def test_a_mapping_or_template_that_cannot_be_read_refuses_its_profiles(
    name: str, content: bytes | None, facts: tuple[object, ...], repository: Repository, message: MakeMessage
) -> None:
    """Before any server is started to fill it in."""
    path = repository.root / name
    path.unlink()
    path.mkdir() if content is None else path.write_bytes(content)
    assert repository.refusal("books") == [message(name, *facts)]
