"""What the pages about the sink say is tested: each test that they name exists, and so does each page."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONNECT = ROOT / "connect"
README = (CONNECT / "README.md").read_text(encoding="utf-8")
ASKS = (ROOT / "docs/sink-asks.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs/measurements/sink-ddd-61.md").read_text(encoding="utf-8")
PAGES = [
    "connect/README.md",
    "docs/remote.md",
    "docs/sink-asks.md",
    "docs/measurements/sink-ddd-61.md",
    "docs/sink-metrics.md",
    "docs/sink-migration.md",
    "docs/measurements/sink.md",
]
TEST_NAME = re.compile(r"`([a-z]+[A-Z]\w+)`")


def java_tests() -> set[str]:
    """The names of all methods that JUnit runs."""
    sources = [path.read_text(encoding="utf-8") for path in (CONNECT / "src/test").rglob("*.java")]
    annotated = re.compile(r"@(?:Parameterized)?Test\b(?:(?!\bvoid\b).)*?\bvoid (\w+)\(", re.DOTALL)
    return {name for source in sources for name in annotated.findall(source)}


def asked_rows() -> list[str]:
    """What stands beside each thing that users asked for."""
    rows = [line for line in ASKS.splitlines() if line.startswith("| ")]
    return [row.strip("| ").split(" | ", 1)[1] for row in rows[2:]]


def design_rows() -> list[list[str]]:
    """The cells of each line of Debezium's design: section, what it asks for, verdict, reason."""
    rows = [line.strip("| ").split(" | ") for line in DESIGN.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] not in {"§", "---"}]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """The links of a page to files or headings that do not exist; addresses elsewhere are not followed."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target))):
            broken.append(f"{page.name}: {link}")
    return broken


def test_every_test_that_the_sinks_readme_names_exists() -> None:
    """No name in the table of asks, or behind the word Tests, is one that no test bears."""
    named = {name for row in asked_rows() for name in TEST_NAME.findall(row)}
    named |= {name for line in re.findall(r"^Tests: .*$", README, re.MULTILINE) for name in TEST_NAME.findall(line)}

    assert len(named) > 50
    assert sorted(named - java_tests()) == []


def test_every_ask_has_a_test_or_a_reason() -> None:
    """Beside each thing that users asked for stands a test, or that it is not offered."""
    assert [row for row in asked_rows() if not TEST_NAME.search(row) and "not offered" not in row] == []


def test_every_line_of_debeziums_design_has_a_verdict_and_a_reason() -> None:
    """Ahead, equal, behind or declined, and why; what is ahead has a test or a page that shows it."""
    rows = design_rows()
    verdicts = {"ahead", "equal", "behind", "declined"}

    assert len(rows) > 100
    assert [row for row in rows if len(row) != 4 or row[2] not in verdicts or not row[3]] == []
    shown = [row for row in rows if TEST_NAME.search(row[3]) or "](" in row[3]]
    assert [row for row in rows if row[2] == "ahead" and row not in shown] == []
    assert sorted({name for row in rows for name in TEST_NAME.findall(row[3])} - java_tests()) == []


def test_the_sinks_pages_link_to_what_exists() -> None:
    """Each link between the pages about the sink names a file and a heading that exist."""
    assert [link for page in PAGES for link in broken_links(ROOT / page)] == []
