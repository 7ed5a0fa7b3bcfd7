"""What installed packages add: found by their entry points, imported when it is first used.

Only installed distributions count: those of this interpreter, and those that `pip install --target` has put into the
folders of `SLUICE_EXTENSIONS`. Neither the working folder nor the checkout is looked into.
"""

import os
import site
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, distributions
from inspect import isabstract
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

FOLDERS: Final = "SLUICE_EXTENSIONS"
"""Environment variable: folders of installed packages beside those of this interpreter, separated by colons."""
GROUPS: Final = "sluice."
"""What the names of our groups of entry points begin with."""

T = TypeVar("T")


class Offer(NamedTuple):
    """One entry point of a distribution.

    Attributes:
        package: Name and version of the distribution: `sluice-example 0.1`.
    """

    entry: EntryPoint
    package: str


class Registry(Mapping[str, T], Generic[T]):
    """Implementations of one interface by name: ours, then those of installed packages.

    Args:
        what: What a message calls one of them, such as `dataset`; the group of entry points is `sluice.` and its
            plural.
        interface: A dataclass, of which an entry point is an instance whose `name` is the entry point's; or an abstract
            class, of which it is a subclass.
        built_in: Ours.
        error: What is raised with one sentence where a package cannot add what it offers.
    """

    def __init__(self, what: str, interface: type, built_in: Mapping[str, T], error: type[Exception]) -> None:
        self.what = what
        self.built_in = built_in
        self._interface = interface
        self._error = error

    def __getitem__(self, name: str) -> T:
        offers = self.offers().get(name, ())
        if not offers:
            return self.built_in[name]
        owners = [*(["Sluice"] if name in self.built_in else []), *(offer.package for offer in offers)]
        if len(owners) > 1:
            raise self._error(f"{self.what} {name}: the name is taken by {' and '.join(owners)}; uninstall one of them")
        return cast("T", self._loaded(offers[0]))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.built_in, *self.offers())))

    def __len__(self) -> int:
        return len(self.built_in.keys() | self.offers().keys())

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self.offers()

    def offers(self) -> Mapping[str, tuple[Offer, ...]]:
        """Name → who offers it, sorted; nothing is imported."""
        folders = given_folders()
        if relative := [folder for folder in folders if not Path(folder).is_absolute()]:
            raise self._error(f"{FOLDERS}: got {relative[0]}, expected absolute paths")
        return offered(folders).get(f"{GROUPS}{self.what}s", {})

    def check(self) -> None:
        """Import all that packages offer; raises the error of the first that cannot be used."""
        for name in self.offers():
            self[name]

    def package(self, name: str) -> str:
        """Name and version of the distribution that has it; ours has none but Sluice's."""
        return next((offer.package for offer in self.offers().get(name, ())), "Sluice")

    def _loaded(self, offer: Offer) -> object:
        where = f"{self.what} {offer.entry.name} of {offer.package}"
        sys.path.extend(folder for folder in given_folders() if folder not in sys.path)
        try:
            made = offer.entry.load()
        except Exception as error:
            raise self._error(f"{where}: cannot be imported: {type(error).__name__}: {error}") from error
        if complaint := self._complaint(made, offer.entry.name):
            raise self._error(f"{where}: {complaint}")
        return made

    def _complaint(self, made: Any, name: str) -> str | None:
        """Why an object does not implement the interface; `None` where it does."""
        interface = self._interface.__name__
        if not isabstract(self._interface):
            if not isinstance(made, self._interface):
                return f"got {type(made).__name__}, expected an instance of {interface}"
            named = getattr(made, "name", name)
            return None if named == name else f"got the name {named}, expected that of its entry point"
        if not (isinstance(made, type) and issubclass(made, self._interface)):
            return f"got {getattr(made, '__name__', type(made).__name__)}, expected a subclass of {interface}"
        lacks = sorted(getattr(made, "__abstractmethods__", ()))
        return f"lacks {' and '.join(lacks)}, expected all methods of {interface}" if lacks else None


def given_folders() -> tuple[str, ...]:
    """The folders of `SLUICE_EXTENSIONS`."""
    return tuple(filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)))


def packages() -> dict[str, str]:
    """Distributions that add something → their version."""
    groups = offered(given_folders()).values()
    return dict(
        offer.package.rsplit(" ", 1) for offers in groups for same_name in offers.values() for offer in same_name
    )


@cache
def offered(folders: tuple[str, ...]) -> Mapping[str, Mapping[str, tuple[Offer, ...]]]:
    """Our groups of entry points: group → name → one of each distribution that has it, by name.

    Args:
        folders: Of installed packages, beside those of this interpreter.
    """
    users = (site.getusersitepackages(),) if site.ENABLE_USER_SITE else ()
    found: dict[str, dict[str, dict[str, Offer]]] = {}
    for distribution in distributions(path=[*site.getsitepackages(), *users, *folders]):
        for entry in distribution.entry_points:
            if entry.group.startswith(GROUPS):
                package = distribution.metadata["Name"]
                offers = found.setdefault(entry.group, {}).setdefault(entry.name, {})
                # Of two versions the first is the one that Python imports.
                offers.setdefault(package, Offer(entry, f"{package} {distribution.version}"))
    return {
        group: {name: tuple(by_package.values()) for name, by_package in sorted(names.items())}
        for group, names in found.items()
    }
