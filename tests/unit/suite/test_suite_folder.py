"""How the folders of a suite's variants are called."""

from lab.records.suite import Variant
from lab.suite.folder import LONGEST_NAME, folder_name


def variant(name: str) -> Variant:
    """One of that name."""
    return Variant(name=name, profile="quickstart", fingerprint="", kind="")


def test_a_name_is_kept_as_far_as_a_folder_may_be_called_so() -> None:
    """Readable, and without what a shell or a file system takes for something else."""
    assert folder_name(variant("mapping=books + tasks=2")) == "mapping=books-tasks=2"


def test_long_names_are_cut_and_stay_different() -> None:
    """As those of many settings at once, which no file system takes."""
    settings = " + ".join(f"setting.number.{number}={number}" for number in range(20))
    names = [folder_name(variant(f"{settings} + {last}")) for last in ("a", "b", "a")]
    assert {len(name) for name in names} == {LONGEST_NAME}
    assert len(set(names)) == 2
    assert all(name.startswith("setting.number.0=0-setting.number.1=1-") for name in names)
