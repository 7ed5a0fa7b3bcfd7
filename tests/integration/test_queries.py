"""Questions asked of real servers, and their answers held against the dataset."""

from lab.records.run import Run
from tests.integration.conftest import Sluice

BOOKS = 3001
ANSWERS = 29
ONE_NODE = (
    "--set",
    f"dataset.books={BOOKS}",
    "--set",
    "elasticsearch.data_nodes=1",
    "--set",
    "index.number_of_replicas=0",
    "--set",
    f"queries.repeats={ANSWERS}",
)


def run_of(sluice: Sluice) -> Run:
    """The record of the last run."""
    return Run.model_validate_json((sluice.latest() / "run.json").read_text())


def test_nested_and_flat_books_give_the_same_right_answers(sluice: Sluice) -> None:
    """The same values are asked for, every answer is right, and only the flat model has to join."""
    runs = []
    for model in ("nested", "flat"):
        done = sluice.run(f"aladin/search-{model}", *ONE_NODE)
        assert (done.status, done.errors) == (0, "")
        runs.append(run_of(sluice))

    nested, flat = (run.questions for run in runs)
    assert [(asked.name, asked.answers, asked.wrong) for asked in (*nested, *flat)] == [
        (name, ANSWERS, 0) for name in ("shop-below-price", "cheapest-in-category", "publisher-in-shops") * 2
    ]
    assert [asked.fingerprint for asked in nested] == [asked.fingerprint for asked in flat]
    assert all(asked.books for asked in nested)
    assert [(asked.requests, asked.ids_joined) for asked in nested] == [(ANSWERS, 0)] * 3
    assert all(asked.requests > ANSWERS and asked.ids_joined for asked in flat)
    assert [phase.name for phase in runs[0].phases][-3:] == ["verify", "query", "collect"]
    assert "What it answers, and how fast" in (sluice.latest() / "report.html").read_text()


def test_a_wrong_answer_voids_the_run_unless_it_is_expected(sluice: Sluice) -> None:
    """Shop and price of two different offers match; the dataset knows better. Here the right answers are expected."""
    done = sluice.run("aladin/search-apart", *ONE_NODE, "--set", "queries.expect_wrong=[shop-below-price]")

    assert done.status == 4
    together, apart = run_of(sluice).questions
    assert (together.wrong, apart.wrong > 0) == (0, True)
    assert (together.expected_wrong, apart.expected_wrong) == (True, False)
    assert f"question shop-below-price: all {ANSWERS} answers are right, expected wrong ones" in done.errors
    assert f"question shop-below-price-apart: {apart.wrong} of {ANSWERS} answers are wrong" in done.errors


def test_a_mapping_that_a_question_does_not_fit_is_refused_before_the_load(sluice: Sluice) -> None:
    """Nobody can sort by an id that the mapping says nothing of."""
    done = sluice.run("aladin/search-nested", *ONE_NODE, "--set", "mapping=aladin.nested.dynamic")

    assert (done.status, "fill" in done.output) == (2, False)
    assert '"shop-below-price" sorts or counts by `salesPoint`, which mapping aladin.nested.dynamic does not have' in (
        done.errors
    )
