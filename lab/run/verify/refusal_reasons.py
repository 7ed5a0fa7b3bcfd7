"""Reasons for refusals without what they quote: fit to be counted together, and to be shown.

Elasticsearch quotes a piece of the document in many a reason, and says in no way which part of it that is. So quotes,
numbers and brackets go, and only what is known to name the mapping stays: better a word too few than one of a document.
"""

import re
from dataclasses import dataclass

GONE = "\x00"
"""Stands for what was taken out, until all steps are done: no step must take it for a quotation mark or a bracket."""

PLACE = re.compile(r"^\S+-\d+@\d+: ")
HEAD = re.compile(r"^(?:status )?(?P<status>[1-5]\d\d)\b(?: (?P<type>[a-z][\w.]*))?:? ?")
NAMES_THE_MAPPING = re.compile(
    r"(?:(?<!date )\bfields?|\btype|\bmapping for|\bintroduction of|\bwithin|\bmapper|\bparameter|\bpipeline)"
    r" \[[\w.@*-]+\]"
)

STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\[\d+:\d+\] ?"), ""),
    (re.compile(r" ?Preview of field's value: .*"), ""),
    # An apostrophe inside a word opens nothing. From the first mark to the last one: a value may hold some itself.
    (re.compile(r"(?<!\w)'.*'(?!\w)"), f"‘{GONE}’"),
    (re.compile(r"(?<!\w)'.*"), f"‘{GONE}’"),
    (re.compile(r'".*"'), f"“{GONE}”"),
    (re.compile(r'".*'), f"“{GONE}”"),
)
BRACKETS = re.compile(r"\[[^\[\]]*\]")
TORN_BRACKETS = re.compile(r"\[.*|[^\[\]]*\]")
NUMBERS = re.compile(r"(?<![\w.@-])-?\d[\w.,:+-]*")
MARKS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', GONE: "…"})


@dataclass(frozen=True, order=True)
class Reason:
    """Why records were refused, in general.

    Attributes:
        status: HTTP status of the item; `None` where Elasticsearch was never asked.
        type: The kind of error, as Elasticsearch names it; `None` likewise.
        cause: The rest in words, without what is only one record's.
    """

    status: int | None
    type: str | None
    cause: str


def general_reason(reason: str) -> str:
    """A reason without what is only this record's: its place in the topic, ids, positions and values that it quotes."""
    reason = PLACE.sub("", reason.translate(dict.fromkeys(range(32), " ")))
    head = HEAD.match(reason)
    end = head.end() if head else 0
    return (reason[:end] + without_quotes(reason[end:])).rstrip()


def reason_of(reason: str) -> Reason:
    """A reason taken apart, in general."""
    general = general_reason(reason)
    head = HEAD.match(general)
    if head is None:
        return Reason(None, None, general)
    return Reason(int(head["status"]), head["type"], general[head.end() :])


def without_quotes(text: str) -> str:
    """The text with `…` for whatever may be a piece of a document."""
    for pattern, instead in STEPS:
        text = pattern.sub(instead, text)
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x01{chr(0xE000 + len(kept) - 1)}"

    text = NAMES_THE_MAPPING.sub(keep, text)
    while BRACKETS.search(text):
        text = BRACKETS.sub(GONE, text)
    text = TORN_BRACKETS.sub(GONE, text)
    text = re.sub(f"{GONE}+", GONE, NUMBERS.sub(GONE, text))
    return re.sub("\x01(.)", lambda match: kept[ord(match[1]) - 0xE000], text).translate(MARKS)
