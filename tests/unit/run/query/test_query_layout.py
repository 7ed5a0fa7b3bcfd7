"""Kept indices: which runs share one, which are taken for whole, which are closed and which are removed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError
from lab.profiles import load_profile, override
from lab.records.run import Layout
from lab.records.verification import Documents, Verification
from lab.run.names import index_name, is_kept, kept_index
from lab.run.prepare import remove_kept
from lab.run.query.layout import LAYOUT, KeptIndex, have_layout, matching_index, put_away, refuse_others, refuse_updates
from lab.run.query.routes import codec_problems, numbers_of
from lab.stack.places import ROOT
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage
from tests.unit.run.displays import SilentProgress

OWN = "sluice-kept-000000000007"
FINGERPRINT = "0000000000000007"
ASKED = ("load.mode=query", "load.queries.duration_s=7", "queries.questions=[total-events]")


def kept_of(*overrides: str, profile: str = "events/static", documents: int = 1009, seed: int = 1) -> str | None:
    """The kept index of a load of queries."""
    given = (*ASKED, f"dataset.documents={documents}", f"dataset.seed={seed}", *overrides)
    dataset = make_dataset("events", documents=documents, seed=seed)
    return kept_index(load_profile(profile, overrides=given), dataset, ROOT)


@pytest.mark.parametrize(
    "overrides",
    [
        ("load.queries={clients: 7, rate_per_s: 101, duration_s: 3}",),
        ("load.queries.rate_per_s=101", "load.ramp={p99_ms: 7}"),
        ("elasticsearch.memory_limit_mb=1709", "elasticsearch.read_iops_limit=503"),
        ("elasticsearch.heap_mb=512",),
        ("index.requests.cache.enable=false",),
        ("verify.sample=7", "sampling.interval_s=3", "question=Another?"),
    ],
)
def test_runs_that_ask_otherwise_read_the_same_index(overrides: tuple[str, ...]) -> None:
    """Nothing of what is stored depends on who asks it, how, and within which bounds."""
    assert kept_of(*overrides) == kept_of()


def test_whatever_is_stored_otherwise_is_another_index() -> None:
    """Each of these decides what lies on disk."""
    alternatives = [
        kept_of(),
        kept_of(documents=1013),
        kept_of(seed=2),
        kept_of(profile="events/no-doc-values"),
        kept_of("index.number_of_shards=3"),
        kept_of("index.codec=best_compression"),
        kept_of("load.segments=1"),
        kept_of("load.route=rewritten", "load.codec_before=default"),
        kept_of("load.route=reindexed", "load.codec_before=default"),
        kept_of("load.route=reindexed", "load.codec_before=best_compression"),
        kept_of("elasticsearch.version=9.5.3"),
        kept_of("elasticsearch.data_nodes=2"),
        kept_of(override("dataset.interval_us", 2000)),
    ]
    assert len(set(alternatives)) == len(alternatives)


def test_a_run_that_fills_its_index_reads_no_kept_one() -> None:
    """The name of its index is that of its profile."""
    assert kept_index(load_profile("quickstart"), make_dataset("events", documents=7), ROOT) is None


def whole(made_by: str = "20260101-000007", fingerprint: str = FINGERPRINT) -> dict[str, object]:
    """The mark of an index that is whole."""
    documents = Documents(
        produced=1009,
        delivered=None,
        failed=None,
        indexed=1009,
        already_there=0,
        dead_lettered=None,
        missing=0,
        unexpected=0,
        sampled=0,
        sample_mismatches=0,
    )
    layout = Layout(
        fingerprint=fingerprint, made_by=made_by, made_in_s=7, route="loaded", codecs={"BEST_SPEED": 3}, segments=3
    )
    kept = KeptIndex(
        uuid="u7",
        operations=1013,
        layout=layout,
        documents=documents,
        verification=Verification(verified=True, problems=()),
    )
    return {"run": made_by, LAYOUT: kept.model_dump(mode="json")}


class Cluster:
    """A cluster with some indices; it keeps what is done to them."""

    def __init__(self, marks: dict[str, dict[str, object]], **seen: object) -> None:
        self.kept = marks
        self.seen = {"uuid": "u7", "operations": 1013, "count": 1009} | seen
        self.calls: list[str] = []

    def marks(self, _: str) -> dict[str, dict[str, object]]:
        """What runs have written down."""
        return self.kept

    def index_settings(self, _: str) -> dict[str, object]:
        """Those of the index."""
        return {"index.uuid": self.seen["uuid"]}

    def index_health(self, *_: object) -> tuple[str, int]:
        """All is well."""
        return "green", 0

    def __getattr__(self, name: str) -> Any:
        def answer(index: str = "", *_: object) -> object:
            if name not in self.seen:
                self.calls.append(f"{name} {index}")
            return self.seen.get(name)

        return answer


def run_of(*keep: str) -> Any:
    """A run that reads the index `OWN`."""
    return SimpleNamespace(
        names=SimpleNamespace(index=OWN),
        profile=load_profile("events/static", overrides=ASKED),
        target=SimpleNamespace(name="local", kept=frozenset(keep), run_ids=frozenset()),
        progress=SilentProgress(),
    )


def client(cluster: Cluster) -> ElasticsearchClient:
    """It, as a run takes it."""
    return cast("ElasticsearchClient", cluster)


def test_a_whole_index_is_found() -> None:
    """It is opened, and takes the run's own settings that can be changed in place."""
    cluster = Cluster({OWN: whole()})
    assert matching_index(run_of(), client(cluster), FINGERPRINT) == KeptIndex.model_validate(whole()[LAYOUT])
    assert cluster.calls == [f"open_index {OWN}", f"put_settings {OWN}"]


@pytest.mark.parametrize(
    ("mark", "seen"),
    [
        ({"run": "20260101-000007"}, {}),
        ({"run": "20260101-000007", LAYOUT: {"fingerprint": "of an older version"}}, {}),
        (whole(fingerprint="0000000000000011"), {}),
        (whole(), {"uuid": "u11"}),
        (whole(), {"operations": 1014}),
        (whole(), {"count": 1008}),
    ],
    ids=["half-made", "of another Sluice", "of another layout", "made anew", "written to", "with a document less"],
)
def test_an_index_that_is_not_as_it_was_verified_is_made_anew(mark: dict[str, object], seen: dict[str, object]) -> None:
    """A run that was killed leaves a mark without a layout, as that is written last."""
    assert matching_index(run_of(), client(Cluster({OWN: mark}, **seen)), FINGERPRINT) is None


def test_other_kept_indices_are_closed_and_few_stay() -> None:
    """Single runs keep four with their own, the newest; what is half-made goes."""
    names = [f"sluice-kept-00000000010{number}" for number in range(5)]
    marks = {name: whole(f"20260101-00000{number}") for number, name in enumerate(names)}
    cluster = Cluster({**marks, OWN: whole(), f"{OWN}-staging": {"run": "20260101-000009"}})
    put_away(run_of(), client(cluster))
    assert sorted(cluster.calls) == [
        *(f"close_index {name}" for name in names[2:]),
        f"delete_index {OWN}-staging",
        *(f"delete_index {name}" for name in names[:2]),
    ]


def test_a_suite_keeps_all_of_its_indices() -> None:
    """However many there are, and how old they are."""
    names = [f"sluice-kept-00000000010{number}" for number in range(7)]
    cluster = Cluster({name: whole() for name in names})
    put_away(run_of(*names), client(cluster))
    assert sorted(cluster.calls) == [f"close_index {name}" for name in names]


def test_the_caches_of_a_found_index_are_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier run has left in them is not its own."""
    monkeypatch.setattr("lab.run.query.layout.layout_fingerprint", lambda *_: FINGERPRINT)
    cluster, tried = Cluster({OWN: whole()}), []
    run = run_of()
    run.dataset = run.root = None
    layout, documents, verification = have_layout(run, client(cluster), lambda: tried.append("tried"))
    assert (layout.made_by, documents.indexed, verification.verified) == ("20260101-000007", 1009, True)
    assert (cluster.calls[-1], tried) == (f"clear_caches {OWN}", ["tried"])


def test_documents_that_replace_others_are_refused(message: MakeMessage) -> None:
    """They would lie in the index as deleted ones."""
    dataset = make_dataset("aladin", documents=1009, updates=0.5)
    again = dataset.documents - len(dataset.latest())
    with pytest.raises(ProfileError) as refused:
        refuse_updates(run_of().profile, dataset)
    assert str(refused.value) == message("experiments/profiles/events/static.yaml:3: dataset", again)


@pytest.mark.parametrize(
    ("codec", "codecs", "facts"),
    [
        ("default", {"Lucene90StoredFieldsFormat.mode: BEST_SPEED": 7}, []),
        ("best_compression", {"Zstd814StoredFieldsFormat.mode: BEST_COMPRESSION": 7}, []),
        ("SomebodysOwn", {"SomebodysStoredFields: 7": 7}, []),
        (
            "best_compression",
            {"Zstd814StoredFieldsFormat.mode: BEST_COMPRESSION": 7, "Lucene90StoredFieldsFormat.mode: BEST_SPEED": 3},
            [
                (
                    "index.codec",
                    "Lucene90StoredFieldsFormat.mode",
                    "BEST_SPEED",
                    3,
                    "BEST_COMPRESSION",
                    "best_compression",
                )
            ],
        ),
    ],
)
def test_every_segment_must_have_the_codec(
    codec: str, codecs: dict[str, int], facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """A force-merge that has done nothing answers 200, too."""
    profile = load_profile("events/static", overrides=(f"index.codec={codec}",))
    assert list(codec_problems(profile, codecs)) == [message(*each) for each in facts]


@pytest.mark.parametrize("profile", ["events/logsdb", "events/columnar", "events/logsdb-columnar"])
def test_modes_for_logs_and_columns_start_with_best_compression(profile: str) -> None:
    """A codec of the profile's own wins."""
    compressed = {"Zstd814StoredFieldsFormat.mode: BEST_COMPRESSION": 1}
    assert list(codec_problems(load_profile(profile), compressed)) == []
    assert list(codec_problems(load_profile(profile, overrides=("index.codec=default",)), compressed)) != []


def test_documents_are_found_by_their_keys() -> None:
    """Those that are to be touched."""
    dataset = make_dataset("events", documents=3001)
    keys = {dataset.key(number) for number in (7, 1031, 3000)}
    assert numbers_of(dataset, keys).tolist() == [7, 1031, 3000]
    assert numbers_of(dataset, set()).dtype == np.int64


def test_a_changed_mapping_makes_another_index(tmp_path: Path) -> None:
    """Its content decides, not its name."""
    profile = load_profile("events/static", overrides=ASKED)
    dataset = make_dataset("events", documents=7)
    (tmp_path / "mappings").mkdir()
    indices = []
    for shards in (1, 3):
        text = f'{{"settings": {{"number_of_shards": {shards}}}, "mappings": {{}}}}'
        (tmp_path / "mappings" / "events.static.json").write_text(text)
        indices.append(kept_index(profile, dataset, tmp_path))
    assert len(set(indices)) == 2


@pytest.mark.parametrize("name", ["kept-books", "kept/books", "kept-0123456789ab"])
def test_a_profile_whose_name_begins_with_kept_has_an_index_of_its_own(name: str) -> None:
    """No run takes it for a kept one, which it would close or delete."""
    index = index_name(load_profile("quickstart").model_copy(update={"name": name}))
    assert (index.startswith("sluice-kept-"), is_kept(index)) == (True, False)


def test_a_kept_index_of_another_run_is_never_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A colleague may be reading it; nor is that of a profile whose name begins with `kept`."""
    cluster = Cluster(
        {OWN: whole("20260101-000011"), f"{OWN}-staging": {"run": "20260101-000013"}, "sluice-kept-x": {}}
    )
    monkeypatch.setattr("lab.run.prepare.cluster_of", lambda *_: cluster)
    target = cast("Any", SimpleNamespace(endpoints=None))
    remove_kept(target, {OWN}, {"20260101-000013"})
    assert cluster.calls == [f"delete_index {OWN}-staging", "close "]


def test_an_index_that_another_user_works_with_is_refused(message: MakeMessage) -> None:
    """It would be deleted under him, or its caches emptied; on servers of our own there is nobody else."""
    run, cluster = run_of(), Cluster({}, index_owner="20260101-000017")
    run.target.name = "local"
    refuse_others(run, client(cluster))
    run.target.name = "remote"
    with pytest.raises(ProfileError) as refused:
        refuse_others(run, client(cluster))
    assert str(refused.value) == message(OWN, "20260101-000017")


def test_an_index_that_the_suite_itself_has_made_is_used_on_servers_of_others() -> None:
    """An earlier run of it, also one before it was interrupted."""
    run = run_of()
    run.target.name, run.target.run_ids = "remote", frozenset({"20260101-000017"})
    refuse_others(run, client(Cluster({}, index_owner="20260101-000017")))
