"""What can be wrong with the `dataset` section, against what `producers` declares."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lab.profiles.datasets import KnownDataset, known_datasets
from lab.profiles.located import Located
from lab.profiles.problems import Problem, suggestion
from lab.profiles.wording import shown, unknown_name

if TYPE_CHECKING:
    from producers.registry import Option

_REMEDIES = {"path": "give it as --path FILE", "key": "give it as --key FIELD"}
_EXPECTED: dict[type, str] = {str: "text", int: "a whole number", float: "a number"}


def dataset_problems(tree: Located) -> Iterator[Problem]:
    """An unknown dataset, options that it does not have or lacks, and a size that it cannot be given."""
    section = tree.at("dataset")
    name = tree.at("dataset", "name")
    if section is None or name is None:
        return
    known = known_datasets().get(str(name.value))
    if known is None:
        yield from unknown_name(name, "dataset.name", "dataset", known_datasets())
        return
    yield from _key_problems(section, known)
    yield from _value_problems(section, known)
    yield from _missing_options(section, name, known)
    yield from _size_problems(section, name, known)


def _key_problems(section: Located, known: KnownDataset) -> Iterator[Problem]:
    for key in sorted(section.entries.keys() - known.keys()):
        said = suggestion(key, known.keys(), "one of")
        yield Problem(section.entries[key].place, f"dataset.{key}", f'unknown key of dataset "{known.name}", {said}')


def _value_problems(section: Located, known: KnownDataset) -> Iterator[Problem]:
    for key, entry in section.entries.items():
        option = known.options.get(key)
        # The models look after `books`, which is a size as well as an option.
        if option is None or key in known.counts:
            continue
        if not _is_of_type(entry.value, option):
            got = shown(entry.plain(), entry)
            yield Problem(entry.place, f"dataset.{key}", f"got {got}, expected {_EXPECTED[option.type]}")
        elif option.choices:
            yield from unknown_name(entry, f"dataset.{key}", key, option.choices)


def _is_of_type(value: object, option: "Option") -> bool:
    return type(value) is option.type or (option.type is float and type(value) is int)


def _missing_options(section: Located, name: Located, known: KnownDataset) -> Iterator[Problem]:
    for option in known.options.values():
        if option.required and option.name not in section.entries:
            message = f"missing, expected {option.meaning}"
            if option.name in _REMEDIES:
                message += f"; {_REMEDIES[option.name]}"
            yield Problem(name.place, f"dataset.{option.name}", message, is_absence=True)


def _size_problems(section: Located, name: Located, known: KnownDataset) -> Iterator[Problem]:
    stated = [count for count in known.counts if count in section.entries]
    if len(stated) > 1:
        entry = section.entries[stated[-1]]
        yield Problem(entry.place, f"dataset.{stated[-1]}", f"`{stated[0]}` is given already, expected one of the two")
    if not stated and not known.is_bounded:
        expected = " or ".join(f"`{count}`" for count in known.counts)
        yield Problem(name.place, "dataset", f"its size is missing, expected {expected}", is_absence=True)
