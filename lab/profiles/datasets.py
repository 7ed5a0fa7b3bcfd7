"""What a profile may say about each dataset, and which mapping fits when it names none."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class KnownDataset:
    """A dataset as far as a profile is concerned.

    Attributes:
        options: Names of its options; `name`, `documents`, `books` and `seed` are not among them.
        counts: Ways to say how much is streamed; one is needed unless `bounded`.
        bounded: It ends by itself, as a file does.
        required: Options without which it cannot be made, with what to do about a missing one.
        models: Model → the mapping that fits it; the first model is the default. Without models there is one entry, "".
    """

    options: frozenset[str]
    models: Mapping[str, str]
    counts: tuple[str, ...] = ("documents",)
    bounded: bool = False
    required: Mapping[str, str] = field(default_factory=dict)

    @property
    def default_model(self) -> str:
        """The model when a profile names none."""
        return next(iter(self.models))

    def default_mapping(self, model: object) -> str:
        """The mapping when a profile names none."""
        return self.models.get(str(model), self.models[self.default_model])


KNOWN: Mapping[str, KnownDataset] = {
    "aladin": KnownDataset(
        options=frozenset({"model", "updates", "key_order", "shops"}),
        models={"nested": "aladin.nested.static", "flat": "aladin.flat.static"},
        counts=("documents", "books"),
    ),
    "events": KnownDataset(options=frozenset({"key_order"}), models={"": "events.static"}),
    "file": KnownDataset(
        options=frozenset({"path", "key", "timestamp"}),
        models={"": "dynamic"},
        bounded=True,
        required={"path": "give the file as --path FILE", "key": "give the name of the key field as --key FIELD"},
    ),
}
