"""The report and the terminal's table."""

import re
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from lab.analysis.figures.badges import COSTS, DOCUMENTS, SAMPLES, TOUCHED
from lab.analysis.figures.definitions import BY_NAME, TERMS
from lab.analysis.report_page import key_figures
from lab.analysis.report_page.accounting import run_sums
from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.sections import machine_cpu
from lab.analysis.report_page.templates import breakable, terms_in
from lab.analysis.report_page.terminal import figure_rows, terminal_table, verdict_line
from lab.analysis.result import RunAnalysis, analyse, write_result
from lab.analysis.text import figure
from lab.records.run import Run, SinkHistograms, WarningKind
from lab.records.samples import Sample
from lab.records.verification import DeadLetterReason, Verification
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, written
from tests.unit.messages import MakeMessage

VOID = ("input", "meta", "br", "link", "img", "hr", "path", "rect", "line", "circle")
HOSTILE = "<script>alert('books')</script>"


class Page(HTMLParser):
    """What a browser would see: elements that are opened and closed, ids, and what would be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in {"src", "href", "xlink:href"} and value and not value.startswith("#"):
                self.fetched.append(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that is closed at once."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """An element ends: the one that was opened last."""
        if tag not in VOID:
            assert self.open.pop() == tag


def page(folder: Path, made: Run, sampled: list[Sample]) -> str:
    """The report of a run."""
    return write_report(analyse(written(folder, made, sampled))).read_text("utf-8")


def analysed_truth(truth: Truth | None = None) -> RunAnalysis:
    """A run of the synthetic truth, without a folder that lasts."""
    with TemporaryDirectory() as folder:
        truth = truth or Truth()
        return analyse(written(Path(folder), run(truth), samples(truth)))


def plain(html: str) -> str:
    """The page's words, one space between them."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text).replace("\u202f", " "))


@pytest.fixture(scope="module")
def drained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a verified drain; drawn once, since charts take seconds."""
    return page(tmp_path_factory.mktemp("drained"), run(Truth()), samples(Truth()))


def failed_run() -> Run:
    """A run that lost seven documents, and whose every text is hostile."""
    made = run(Truth(dead_lettered=13))
    return made.model_copy(
        update={
            "profile": HOSTILE,
            "question": HOSTILE,
            "documents": made.documents.model_copy(update={"indexed": made.documents.indexed - 7, "missing": 7}),
            "verification": Verification(
                verified=False,
                problems=("7 documents are missing from the index", HOSTILE),
                dead_letters=(DeadLetterReason(reason=HOSTILE, records=13, first="books-0@17"),),
            ),
            "sink_histograms": SinkHistograms(record_age=None, bulk_service_time=None),
        }
    )


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of that run, without a sample of its sink."""
    sampled = with_samples(samples(Truth(dead_lettered=13)), lambda _sample: {"sink": None})
    return page(tmp_path_factory.mktemp("failed"), failed_run(), sampled)


@pytest.mark.parametrize("name", ["drained", "failed"])
def test_the_page_is_whole_and_fetches_nothing(name: str, request: pytest.FixtureRequest) -> None:
    """It opens on a machine without a network, and every element is closed; its one script lies in it."""
    shown = Page(request.getfixturevalue(name))
    assert shown.open == []
    assert shown.fetched == []
    assert len(set(shown.ids)) == len(shown.ids)
    assert shown.seen.count("script") == 1


def test_the_answer_stands_on_top(drained: str) -> None:
    """The verdict, one figure, what was run, whether it is verified, what limited it."""
    assert 'class="answer good"' in drained
    text = plain(drained)
    assert "✓ Verified Indexing rate Growth of Elasticsearch's own counter" in unescape(text)
    assert (
        "5,000 /s over 18 s after 3 s of warm-up 115,069 documents (91.7 MB) were put into Kafka and then"
        " drained through Kafka Connect into Elasticsearch 8.19.21, on one machine with 2 cores. All documents are in"
        " the index, and 1,000 drawn at random equal what was sent. Limited by Elasticsearch : "
    ) in text


def test_a_drain_shows_no_figure_that_only_its_preloaded_topic_makes(drained: str) -> None:
    """Its largest lag is all of its documents, its end to end the time in the queue; nor one that repeats another."""
    shown = key_figures.tiles(run(Truth()), analysed_truth().result)
    assert [tile.label for tile in shown] == [
        "Indexing latency",
        "Source indexed",
        "Bulk service time, p99",
        "Documents per bulk",
        "Drain time",
        "Size on disk",
    ]
    assert "End to end" not in plain(drained)
    flat = analysed_truth(Truth(docs_per_entity=3))
    assert "Entities indexed" in [tile.label for tile in key_figures.tiles(flat.folder.run, flat.result)]


def test_all_charts_are_drawn_for_readers_of_all_kinds(drained: str) -> None:
    """Each drawing has words for those who cannot see it, and values for those who point at it."""
    assert drained.count("<svg") == 5
    assert drained.count('role="img" aria-label="') == 5
    assert drained.count(' data-readings="{&#34;first&#34;:') == 5
    assert "Not measured" not in drained


def test_a_chart_without_samples_says_so(failed: str) -> None:
    """An empty frame would look like zero."""
    assert failed.count("<svg") == 4
    assert failed.count('<p class="empty">Not measured.</p>') == 1


def test_what_was_taken_from_a_run_stands_where_its_costs_are(tmp_path: Path, message: MakeMessage) -> None:
    """In the report one line, of what is known; in the terminal a row each, and none for what is not."""
    taken = {"machine_steal_percent": 3.0, "other_cpu_percent": 7.0}
    analysis = analyse(written(tmp_path, run(Truth()), with_samples(samples(Truth()), lambda _: taken)))
    assert machine_cpu(analysis.result) == message(97, 3, 7)
    assert machine_cpu(analysis.result) in write_report(analysis).read_text("utf-8")
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal_table(analysis.result))
    lines = console.export_text().replace("\u202f", " ").splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in lines if "Taken by" in line] == [
        ["Taken by the hypervisor", "run", "3 %"],
        ["Taken by other programs", "run", "7 %"],
    ]


def test_a_failed_run_is_void_on_top(failed: str) -> None:
    """The reasons stand in the answer, and the figures are struck out."""
    assert 'class="answer failed"' in failed
    assert 'class="tiles void"' in failed
    text = plain(failed)
    assert "✗ Void Indexing rate" in text
    assert "These figures are void: 7 documents are missing" in text


def test_books_that_do_not_add_up_say_by_how_much(failed: str) -> None:
    """The sum is shown, and what it ought to be."""
    text = plain(failed)
    assert "✗ 115,082 records delivered = 115,062 indexed + 0 overwritten + 13 dead-lettered ; 7 missing" in text
    assert "✗ 7 missing , 0 unexpected ; of 1,000 drawn at random, 0 differ from what was sent" in text


def test_text_from_outside_is_escaped(failed: str) -> None:
    """Profiles, questions and Elasticsearch's reasons are not markup."""
    assert HOSTILE not in failed
    assert "&lt;script&gt;alert(&#39;books&#39;)&lt;/script&gt;" in failed


def test_secrets_are_not_shown(drained: str) -> None:
    """A report is made to be passed on."""
    assert "correct horse" not in drained
    assert "(hidden)" in drained


def test_no_setting_of_an_index_is_hidden(tmp_path: Path) -> None:
    """A tokenizer is no token, and the length of one is what the run is about."""
    made = run(Truth())
    settings = {"index.analysis.analyzer.mine.tokenizer": "nori", "index.analysis.analyzer.mine.max_token_length": "7"}
    environment = made.environment.model_copy(update={"index_settings": settings})
    profile = {"index": {"analysis.analyzer.mine.max_token_length": 11}}
    folder = written(tmp_path, made.model_copy(update={"environment": environment}), samples(Truth()), profile)
    shown = unescape(write_report(analyse(folder)).read_text())
    for line in (
        '"index.analysis.analyzer.mine.tokenizer": "nori"',
        '"index.analysis.analyzer.mine.max_token_length": "7"',
        '"analysis.analyzer.mine.max_token_length": 11',
    ):
        assert line in shown


def test_the_command_to_repeat_the_run_is_there(drained: str) -> None:
    """Word by word, at its commit."""
    assert (
        "git checkout 0123456789abcdef0123456789abcdef01234567 ./sluice run aladin/synthetic --set"
        " index.number_of_replicas=0"
    ) in plain(drained)


def test_a_run_without_samples_has_a_report(tmp_path: Path) -> None:
    """Every chart says that there is nothing to draw."""
    html = page(tmp_path, run(Truth()), [])
    assert html.count('<p class="empty">Not measured.</p>') == 4
    assert "Not measured: indexing rate, indexing latency, source indexed, documents per bulk, drain time." in plain(
        html
    )
    assert Page(html).open == []


def test_result_and_report_are_drawn_from_one_reading_of_the_folder(tmp_path: Path) -> None:
    """A long run has gigabytes of samples, which are parsed once."""
    analysis = analyse(written(tmp_path, run(Truth()), []))
    for file in tmp_path.iterdir():
        file.unlink()
    write_result(analysis)
    write_report(analysis)
    assert {file.name for file in tmp_path.iterdir()} == {"result.json", "report.html"}


def test_the_runs_books_are_both_laws() -> None:
    """What is conserved is stated once, and checked here against the synthetic run."""
    assert [part.difference for part in run_sums(run(Truth(dead_lettered=13)).documents)] == [0, 0]


def test_the_terminals_table_fits_sixty_columns(tmp_path: Path) -> None:
    """Figures and documents, each once, in a line each."""
    console = Console(width=60, record=True, file=(tmp_path / "out").open("w"))
    console.print(terminal_table(analyse(written(tmp_path, run(Truth()), samples(Truth()))).result))
    text = console.export_text().replace("\u202f", " ")
    assert max(len(line) for line in text.splitlines()) <= 60
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    assert ["Indexing rate", "primaries", "5,000/s"] in rows
    assert len({tuple(row[-2:]) for row in rows if row[0] == "CPU per million documents"}) == sum(
        row[0] == "CPU per million documents" for row in rows
    )


@pytest.mark.parametrize(
    ("width", "latency", "course"),
    [(80, " · 0.31 ms each", " · ▁"), (120, " · 0.31 ms each", " · ▁"), (64, " · 0.31 ms each", ""), (60, "", " · ▁")],
    ids=["what is left", "wide", "none is left", "narrow"],
)
def test_a_run_ends_with_one_line(tmp_path: Path, width: int, latency: str, course: str) -> None:
    """Verified or not, rate, latency, what limited it, and how the rate went, as far as there is room."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    line = verdict_line(analysis.result, analysis.folder.samples, width).plain.replace("\u202f", " ")
    told = f"✓ verified · 5,000/s{latency} · limited by Elasticsearch"
    assert line.startswith(told)
    assert line.removeprefix(told)[:4] == course[:4]
    assert len(line) <= width


def test_the_line_of_a_run_names_a_single_dead_letter(tmp_path: Path) -> None:
    """One is no plural."""
    analysis = analyse(written(tmp_path, run(Truth(dead_lettered=1)), samples(Truth(dead_lettered=1))))
    line = verdict_line(analysis.result, analysis.folder.samples, 200).plain
    assert line.startswith("✓ verified · 1 dead letter · 5,000/s")


def test_the_line_of_a_run_names_dead_letters_and_a_rate_that_was_missed(tmp_path: Path) -> None:
    """Before any figure, and in amber."""
    truth = Truth(load="stream", rate_docs_per_s=9001.0, lag_records=39_427, dead_lettered=13)
    analysis = analyse(written(tmp_path, run(truth), samples(truth)))
    line = verdict_line(analysis.result, analysis.folder.samples, 200)
    assert line.plain.startswith("✓ verified · did NOT keep up with 9,000/s · 13 dead letters · 5,000/s")
    styles = {line.plain[span.start : span.end]: span.style for span in line.spans}
    assert styles[" · 13 dead letters"] == styles[" · did NOT keep up with 9,000/s"] == "bold yellow"


def test_a_load_too_short_to_measure_has_a_rate_all_the_same(tmp_path: Path) -> None:
    """Documents by the time that they took, marked as such."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    short = [
        metric.model_copy(update={"value": None}) if metric.name.startswith("indexing_") else metric
        for metric in analysis.result.metrics
    ]
    drain_s = next(metric.value for metric in short if metric.name == "drain_s")
    result = analysis.result.model_copy(update={"metrics": tuple(short)})
    line = verdict_line(result, analysis.folder.samples, 80).plain
    assert drain_s is not None
    assert f" · ≈ {figure((result.documents.indexed or 0) / drain_s, 'docs/s')} (documents ÷ drain time) · " in line


def test_without_a_measured_window_no_rate_of_a_few_samples_is_shown(tmp_path: Path) -> None:
    """The line and the top of the page have documents by their time; rate and latency stand nowhere."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    result = analysis.result.model_copy(update={"measured_window": None})
    assert "≈ 4,420/s (documents ÷ drain time) · " in verdict_line(result, analysis.folder.samples, 80).plain
    labels = {label for label, _, _ in figure_rows(result, ())}
    assert labels & {"Indexing rate", "Indexing latency", "Source indexed"} == set()
    tiles = [key_figures.hero(analysis.folder.run, result), *key_figures.tiles(analysis.folder.run, result)]
    assert tiles[0].value == "≈\u202f4,420/s"
    assert {tile.label for tile in tiles} & {"Indexing rate", "Indexing latency", "Source indexed"} == set()


def test_the_samples_of_a_load_too_short_to_measure_name_no_limit(tmp_path: Path) -> None:
    """Two of them show what happened in one interval; with the whole load, the sink is what was busy."""
    whole = samples(Truth())
    growing = [place for place, sample in enumerate(whole) if sample.phase == "load"]
    few = [*whole[: growing[0] + 3], *whole[growing[-1] + 1 :]]
    limits = [analyse(written(tmp_path / name, run(Truth()), of)).result for name, of in (("all", whole), ("few", few))]
    assert limits[0].limited_by is not None
    assert (limits[1].measured_window, limits[1].limited_by) == (None, None)
    assert WarningKind.SHORT_WINDOW in {warning.kind for warning in limits[1].warnings}


def test_the_table_of_a_drain_has_nothing_that_only_says_how_long_it_took(tmp_path: Path) -> None:
    """All of its records wait when it begins: no lag, no end-to-end latency, no rate at which the topic was filled."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    labels = {label for label, _, _ in figure_rows(analysis.result, ())}
    assert labels & {"Largest lag", "End to end, median", "End to end, p99", "Delivery rate"} == set()


def test_a_stream_that_did_not_keep_up_says_so_first(tmp_path: Path) -> None:
    """In amber and before it is called verified: its latencies are those of a growing backlog."""
    truth = Truth(load="stream", rate_docs_per_s=9001.0, lag_records=39_427)
    analysis = analyse(written(tmp_path, run(truth), samples(truth)))
    shown = write_report(analysis).read_text("utf-8")
    assert '<div class="answer care">' in shown
    assert "<strong>Did NOT keep up with 9,000/s.</strong>" in shown
    assert '<a class="badge" href="#warning-did_not_keep_up">Did not keep up</a>' in shown
    assert '<div class="warning" id="warning-did_not_keep_up">' in shown


def test_a_warning_is_a_badge_on_all_that_it_touches(tmp_path: Path) -> None:
    """On the figures that it makes doubtful and the sections that it tells of, and on no other."""
    truth = Truth(load="stream", rate_docs_per_s=9001.0, lag_records=39_427, dead_lettered=13)
    folder = analyse(written(tmp_path, run(truth), samples(truth)))
    made = folder.folder.run
    marked = {tile.label: tile.badges for tile in key_figures.tiles(made, folder.result)}
    late = (WarningKind.DID_NOT_KEEP_UP,)
    assert key_figures.hero(made, folder.result).badges == late
    assert marked["End to end, p99"] == marked["Largest lag"] == marked["Indexing latency"] == late
    assert marked["Bulk service time, p99"] == marked["Delivery rate"] == marked["Size on disk"] == ()
    html = write_report(folder).read_text("utf-8")
    section = html[html.index("Where every document went") :]
    assert section[: section.index("</h2>")].count('href="#warning-') == 1
    assert 'href="#warning-dead_letters">Dead letters</a>' in section[: section.index("</h2>")]


def test_every_warning_of_a_run_touches_something() -> None:
    """One that is forgotten would stand far from what it makes doubtful."""
    of_suites = {
        WarningKind.ENVIRONMENTS_DIFFER,
        WarningKind.RATES_RISE,
        WarningKind.REPETITION_DIFFERS,
        WarningKind.RUNS_FAILED,
    }
    assert set(WarningKind) - of_suites == set(TOUCHED)
    parts = {name for touched in TOUCHED.values() for name in touched}
    known = {*BY_NAME, DOCUMENTS, COSTS, SAMPLES}
    assert [part for part in parts if not any(name.startswith(part) for name in known)] == []


def test_every_badge_leads_to_its_warning(tmp_path: Path) -> None:
    """A link to nothing would be worse than none."""
    truth = Truth(load="stream", rate_docs_per_s=9001.0, lag_records=39_427, dead_lettered=13)
    html = page(tmp_path, run(truth), samples(truth))
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets == {"warning-did_not_keep_up", "warning-dead_letters"}
    assert targets <= set(Page(html).ids)


def test_a_stream_that_kept_its_rate_is_measured_by_its_latency(message: MakeMessage) -> None:
    """Its rate is what was asked for."""
    truth = Truth(load="stream", rate_docs_per_s=5003.0)
    analysis = analysed_truth(truth)
    hero = key_figures.hero(analysis.folder.run, analysis.result)
    caption = key_figures.hero_caption(analysis.folder.run, analysis.result)
    assert (hero.label, hero.badges) == ("End to end, p99", ())
    assert caption == message("5,000")


def test_a_load_too_short_to_measure_has_documents_by_their_time_on_top(message: MakeMessage) -> None:
    """Marked as such, and what was not measured is named once."""
    analysis = analysed_truth()
    unknown = [
        metric.model_copy(update={"value": None}) if metric.name.startswith("indexing_") else metric
        for metric in analysis.result.metrics
    ]
    result = analysis.result.model_copy(update={"metrics": tuple(unknown), "measured_window": None})
    made = analysis.folder.run
    hero = key_figures.hero(made, result)
    assert (hero.label, hero.value) == ("Documents ÷ drain time", "≈\u202f4,420/s")
    assert hero.meaning == message("each update counted")
    assert key_figures.hero_caption(made, result) == message()
    assert key_figures.not_measured(made, result) == ["indexing rate", "indexing latency", "source indexed"]


def test_a_report_says_what_local_servers_are(drained: str, tmp_path: Path) -> None:
    """The small distribution, and what that lacks; servers elsewhere are what they are."""
    assert "Elasticsearch 8.19.21 (integ-test-zip) ·" in drained
    assert "<dt>integ-test-zip</dt>" in drained
    made = run(Truth())
    elsewhere = made.environment.model_copy(update={"target": "remote"})
    assert "integ-test-zip" not in page(tmp_path, made.model_copy(update={"environment": elsewhere}), samples(Truth()))


@pytest.mark.parametrize(
    ("distribution", "words"),
    [("official", "(official distribution) ·"), ("/opt/elasticsearch-9", "(/opt/elasticsearch-9) ·")],
)
def test_a_report_says_which_distribution_was_used(distribution: str, words: str, tmp_path: Path) -> None:
    """In place of the small one."""
    made = run(Truth())
    environment = made.environment.model_copy(update={"distribution": distribution})
    html = page(tmp_path, made.model_copy(update={"environment": environment}), samples(Truth()))
    assert words in html
    assert "integ-test-zip" not in html


def test_words_are_explained_where_they_are_used(drained: str) -> None:
    """On demand; words that the page does not use are left out."""
    assert terms_in("<p>A sink.</p><style>.knee {}</style>", TERMS) == {"sink": TERMS["sink"]}
    assert terms_in("<p>Two sinks, drained.</p><pre>question: null</pre>", TERMS) == {"sink": TERMS["sink"]}
    assert "<summary>Words used here</summary>" in drained
    assert "<dt>knee</dt>" not in drained


def test_names_of_settings_break_between_words_and_stay_whole_for_readers() -> None:
    """On a narrow screen; what is not a name is escaped as everywhere."""
    assert breakable("flush_size=2gb + a.b <") == "flush_<wbr>size=<wbr>2gb + a.<wbr>b &lt;"
    assert terms_in(f"<td>{breakable('codec=best_sink')}</td>", TERMS) == {}


def test_a_run_that_asked_nothing_explains_no_question(tmp_path: Path) -> None:
    """Though its profile has a key of that name."""
    html = page(tmp_path, run(Truth()).model_copy(update={"questions": ()}), samples(Truth()))
    assert "&#34;question&#34;" in html
    assert "<dt>question</dt>" not in html
    assert "<dt>document</dt>" in html


@pytest.mark.parametrize(
    ("dataset", "content", "sentence"),
    [
        (
            "aladin",
            None,
            "The same seed gives the same documents.",
        ),
        ("file", "c0ffee", "The documents were read from a file (BLAKE2b of its documents: c0ffee): the command loads"),
        ("file", None, "The documents were read from a file: the command loads them again if the file is the same."),
    ],
)
def test_how_to_do_it_again_is_true_of_a_file_too(
    tmp_path: Path, dataset: str, content: str | None, sentence: str
) -> None:
    """A file has no seed, and may change; a run of an older version knows no hash of it."""
    made = run(Truth()).model_copy(update={"content_hash": content})
    folder = written(tmp_path, made, [], {"dataset": {"name": dataset}})
    assert sentence in unescape(plain(write_report(analyse(folder)).read_text("utf-8")))
