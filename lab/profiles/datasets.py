"""What a profile may say about each dataset, as `producers` declares it, and which mapping fits when it names none."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.errors import ProfileError
from lab.profiles.located import Located
from producers.dataset import DatasetError
from producers.registry import DATASETS, Option

FOR_EVERY_DATASET = frozenset({"name", "seed"})


@dataclass(frozen=True)
class KnownDataset:
    """A dataset as far as a profile is concerned.

    Attributes:
        options: Its options by name; `name`, `documents` and `seed` are not among them.
        mappings: Model, empty for a dataset without models → mapping of a profile that names none.
    """

    name: str
    options: Mapping[str, Option]
    mappings: Mapping[str, str]

    @property
    def counts(self) -> tuple[str, ...]:
        """Ways to say how much is streamed, of which a profile chooses one."""
        return ("documents", "books") if "books" in self.options else ("documents",)

    @property
    def is_bounded(self) -> bool:
        """Whether it ends by itself, as a file does, and needs no size."""
        return "path" in self.options

    @property
    def default_model(self) -> str:
        """The model when a profile names none; empty for a dataset without models."""
        return str(self.options["model"].default) if "model" in self.options else ""

    @property
    def defaults(self) -> dict[str, str | int | float]:
        """The values of the options that a profile does not state; options without a default are left out."""
        return {name: option.default for name, option in self.options.items() if option.default is not None}

    def model_in(self, tree: Located) -> str:
        """The model of a profile with this dataset."""
        model = tree.at("dataset", "model")
        return str(self.default_model if model is None else model.value)

    def mapping_in(self, tree: Located) -> str:
        """The mapping of a profile with this dataset that names none."""
        return self.mappings.get(self.model_in(tree), "dynamic")

    def keys(self) -> frozenset[str]:
        """Every key of the `dataset` section."""
        return FOR_EVERY_DATASET | self.options.keys() | set(self.counts)

    def inheritable_keys(self) -> frozenset[str]:
        """Keys of another dataset's section that mean the same here; a file is not cut short by another's size."""
        return self.keys() - set(self.counts if self.is_bounded else ())


def known_dataset(name: str) -> KnownDataset | None:
    """The dataset of this name; `None` where there is none.

    Raises:
        ProfileError: The package that has it cannot be used.
    """
    try:
        description = DATASETS.get(name)
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if description is None:
        return None
    return KnownDataset(name, {option.name: option for option in description.options}, description.mappings)


def dataset_in(tree: Located) -> KnownDataset | None:
    """The dataset that a profile names; `None` where it names none, or one that does not exist."""
    name = tree.at("dataset", "name")
    return known_dataset(str(name.value)) if name is not None else None
