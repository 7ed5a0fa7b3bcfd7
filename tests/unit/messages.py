"""Messages in tests: a test names the facts of a message, and the golden file of its module holds the words."""

import re
from collections.abc import Callable, Mapping

from syrupy.assertion import SnapshotAssertion

MakeMessage = Callable[..., "Message"]
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The present, as messages write it."""


class Naming:
    """An expected text by its facts: words and numbers that stand in it. Another test holds its other words."""

    __hash__ = None

    def __init__(self, *facts: object) -> None:
        self.facts = facts
        self.shown = f"text with {facts}"

    def __eq__(self, other: object) -> bool:
        """Look for each fact as a whole word."""
        if not isinstance(other, str):
            return NotImplemented
        missing = [fact for fact in self.facts if not re.search(rf"(?<!\w){re.escape(str(fact))}(?!\w)", other)]
        if missing:
            self.shown = f"text without {missing}"
        return not missing

    def __repr__(self) -> str:
        """The facts, or those that are missing, or the golden text."""
        return self.shown


class Message(Naming):
    """An expected text that names all facts and is the next text of the golden file.

    Args:
        golden: The texts of one test, in the order in which the test compares them.
        facts: Checked first, so that no renewal of the golden file accepts a text without them.
        changing: What another machine or run has otherwise, by the name that the golden file holds in its place.
    """

    __hash__ = None

    def __init__(self, golden: SnapshotAssertion, facts: tuple[object, ...], changing: Mapping[str, object]) -> None:
        super().__init__(*facts)
        self.golden = golden
        self.changing = changing
        self.verdicts: dict[str, bool] = {}

    def __eq__(self, other: object) -> bool:
        """Compare each text once: pytest compares again when it explains a failure."""
        named = super().__eq__(other)
        if named is not True:
            return named
        if other not in self.verdicts:
            text = INSTANT.sub("{instant}", str(other))
            for name, value in self.changing.items():
                text = text.replace(str(value), f"{{{name}}}")
            self.verdicts[str(other)] = bool(self.golden == text)
            self.shown = repr(self.golden)
        return self.verdicts[str(other)]
