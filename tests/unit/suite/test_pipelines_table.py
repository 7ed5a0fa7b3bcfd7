"""The table of docs/pipelines.md, made of a suite's figures."""

from tools.pipelines_table import table


def row(variant: str, metric: str, value: str, status: str = "verified") -> dict[str, str]:
    """A line of `suite.csv`."""
    name, scope = metric.split("/")
    counted = "true" if value else "false"
    return {
        "variant": variant, "metric": name, "scope": scope, "value": value, "status": status, "counted": counted,
        "folder": f"runs/{variant}",
    }  # fmt: skip


def test_each_pipeline_has_a_line_of_medians() -> None:
    """Loads of one pipeline stand in one line; of ours the worker counts, of others their own process."""
    lines = table(
        [
            row("ours", "indexing_rate_docs_per_s/primaries", "10000"),
            row("ours", "indexing_rate_docs_per_s/primaries", "12000"),
            row("ours", "cpu_s_per_million_docs/connect", "44"),
            row("ours after a pause", "catch_up_s/run", "3.25"),
            row("other", "cpu_s_per_million_docs/sink", "30"),
            row("other", "cpu_s_per_million_docs/connect", "2"),
        ]
    ).splitlines()
    assert lines[2] == "| ours | 11,000/s (2) | 44 (1) | – | – | – | – | – | – | – | 3.2 s (1) |"
    assert lines[3] == "| other | – | 30 (1) | – | – | – | – | – | – | – | – |"


def test_runs_that_lost_documents_are_told_below() -> None:
    """They have no figures; that they were made is one."""
    lost = [row("other", "indexing_rate_docs_per_s/primaries", "", "not verified")] * 2
    assert table(lost).splitlines()[-1] == "other: 1 run was not verified"
