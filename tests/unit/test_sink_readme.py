"""What connect/README.md says is tested: each test it names exists."""

import re
from pathlib import Path

CONNECT = Path(__file__).resolve().parents[2] / "connect"
README = (CONNECT / "README.md").read_text(encoding="utf-8")
TEST_NAME = re.compile(r"`([a-z]+[A-Z]\w+)`")


def java_tests() -> set[str]:
    """The names of all methods that JUnit runs."""
    sources = [path.read_text(encoding="utf-8") for path in (CONNECT / "src/test").rglob("*.java")]
    annotated = re.compile(r"@(?:Parameterized)?Test\b(?:(?!\bvoid\b).)*?\bvoid (\w+)\(", re.DOTALL)
    return {name for source in sources for name in annotated.findall(source)}


def asked_rows() -> list[str]:
    """What stands beside each thing that users asked for."""
    table = README.partition("## What users of such sinks asked for")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    return [row.strip("| ").split(" | ", 1)[1] for row in rows[2:]]


def test_every_test_that_the_sinks_readme_names_exists() -> None:
    """No name in the table of asks, or behind the word Tests, is one that no test bears."""
    named = {name for row in asked_rows() for name in TEST_NAME.findall(row)}
    named |= {name for line in re.findall(r"^Tests: .*$", README, re.MULTILINE) for name in TEST_NAME.findall(line)}

    assert len(named) > 50
    assert sorted(named - java_tests()) == []


def test_every_ask_has_a_test_or_a_reason() -> None:
    """Beside each thing that users asked for stands a test, or that it is not offered."""
    assert [row for row in asked_rows() if not TEST_NAME.search(row) and "not offered" not in row] == []
