"""Messages in tests: a test names the facts of a message, and the golden file of its module holds the words."""

import re
from collections.abc import Callable, Mapping

from syrupy.assertion import SnapshotAssertion

MakeMessage = Callable[..., "Message"]
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The present, as messages write it."""


class Message:
    """An expected text: it names all facts, and it equals the next text of the golden file.

    Args:
        golden: The texts of one test, in the order in which the test compares them.
        facts: Words and numbers that stand in the text.
        changing: Facts that another machine or another run has otherwise, by the name that the golden file holds
            in their place.
    """

    __hash__ = None

    def __init__(self, golden: SnapshotAssertion, facts: tuple[object, ...], changing: Mapping[str, object]) -> None:
        self.golden = golden
        self.facts = facts
        self.changing = changing
        self.verdicts: dict[str, bool] = {}
        self.shown = f"message with {facts}"

    def __eq__(self, other: object) -> bool:
        """Compare once per text; pytest compares again when it explains a failure."""
        if not isinstance(other, str):
            return NotImplemented
        if other not in self.verdicts:
            self.verdicts[other] = self.is_text(other)
        return self.verdicts[other]

    def is_text(self, text: str) -> bool:
        """Check the facts first, so that no renewal accepts a text without them."""
        missing = [fact for fact in self.facts if not re.search(rf"(?<!\w){re.escape(str(fact))}(?!\w)", text)]
        if missing:
            self.shown = f"message that lacks {missing}"
            return False
        for name, value in self.changing.items():
            text = text.replace(str(value), f"{{{name}}}")
        text = INSTANT.sub("{instant}", text)
        is_golden = bool(self.golden == text)
        self.shown = repr(self.golden)
        return is_golden

    def __repr__(self) -> str:
        """The golden text, or the missing facts."""
        return self.shown
