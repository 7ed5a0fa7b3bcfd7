"""A repository of the test's own: profiles as the test writes them, and a few mappings."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import Profile, load_profile

MAPPINGS = (
    "aladin.nested.static",
    "aladin.nested.dynamic",
    "aladin.flat.static",
    "events.static",
    "dynamic",
)


@dataclass(frozen=True)
class Repository:
    """A folder laid out as the repository is."""

    root: Path

    def write(self, name: str, text: str) -> Path:
        """A profile of this name."""
        path = self.root / "experiments" / "profiles" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def load(self, name: str, *overrides: str) -> Profile:
        """The profile of this name."""
        return load_profile(name, overrides=overrides, root=self.root)

    def refusal(self, name: str, *overrides: str) -> list[str]:
        """The lines with which the profile is refused, without the folder that they all share."""
        with pytest.raises(ProfileError) as caught:
            self.load(name, *overrides)
        return [line.removeprefix("experiments/profiles/") for line in str(caught.value).splitlines()]
