"""The repository that the tests of profiles write into."""

from pathlib import Path

import pytest

from tests.unit.profiles.profile_repository import MAPPINGS, Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with mappings, a connector template and the profile `books`."""
    for folder, names in (("mappings", MAPPINGS), ("connect/connectors", ("elasticsearch",))):
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / folder / f"{name}.json").write_text("{}", encoding="utf-8")
    made = Repository(tmp_path)
    made.write(
        "books",
        """
        question: How fast are books indexed?
        dataset:
          name: aladin
          model: nested
          documents: 1009
        mapping: aladin.nested.static
        index:
          number_of_shards: 1
          translog:
            durability: request
        """,
    )
    return made
