"""A race of Rally's as the load of a run: from the corpus to Rally's own report."""

import json
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.analysis.rally.summary import read_summary
from lab.errors import ProfileError, StackError
from lab.monitor import CLOCK
from lab.profiles import Rally
from lab.program import Program
from lab.records.run import RallyLoad
from lab.run.load.drain import DrainWatch, wait_for_sample_after
from lab.run.load.rally import family
from lab.run.load.rally.program import esrally
from lab.run.load.rally.track import (
    CORPUS,
    LOG,
    OWN_REPORT,
    RACE,
    Corpus,
    race_command,
    race_file,
    write_corpus,
    write_track,
)
from lab.run.load_kinds.base import Clients, Latest, Loading, Steps
from lab.run.phases import RunContext

PATIENCE_S = 300.0
"""Rally waits 20 s and more by itself, before it sends and after."""
POLL_S = 0.1
ACTORS = ("127.0.0.1", 1900)
"""Where Rally finds actors that run already, whose work would not be counted."""


class RallyLoading(Loading[Rally]):
    """A load through Rally: its bulk task, and everything that Rally starts for it.

    Attributes:
        rally: Record of the race; `None` until Rally has ended.
    """

    def __init__(self, run: RunContext, clients: Clients, section: Rally) -> None:
        super().__init__(run, clients, section)
        self.rally: RallyLoad | None = None
        self._folder = run.folder.path.absolute() / "rally"
        self._words = self._folder / "command.json"
        # It writes into the folder alone.
        places = {"RALLY_HOME": str(self._folder), "TMPDIR": str(self._folder / "tmp")}
        self._program = Program(
            (sys.executable, "-P", family.__file__, str(self._words)),
            name="Rally",
            log=run.folder.path / LOG,
            folder=self._folder,
            environment={**run.target.child_environment, **places},
            clock=CLOCK.now_s,
        )

    def phases(self, latest: Latest) -> Steps:
        """Write the corpus and start Rally; then follow the index until it has everything."""
        yield "fill", self.start
        yield "load", lambda: self.follow(latest)

    def start(self) -> None:
        """Write the corpus and start Rally; return once Rally has sent a document: what it did before is no load.

        Raises:
            StackError: The corpus has no room, or Rally fails.
        """
        started_s = time.monotonic()
        run = self.run
        refuse_foreign_actors()
        run.progress.begin("fill", "writing Rally's corpus", run.dataset.documents)
        (self._folder / "tmp").mkdir(parents=True)
        self._corpus = write_corpus(run.dataset, self._folder, run.names.index, run.progress.update)
        write_track(self._folder, self.section, self._corpus)
        race = race_command(
            esrally() or "esrally",
            self._folder,
            run.folder.path.absolute() / OWN_REPORT,
            run.target.endpoints.elasticsearch_urls,
            run.folder.run_id,
        )
        self._words.write_text(json.dumps(race), "utf-8")
        run.children["rally"] = self._program.start()
        run.progress.begin("fill", "Rally prepares", None)
        self._wait_until(self._has_sent, "sent nothing")
        self._prepared_s = time.monotonic() - started_s

    def _has_sent(self) -> bool:
        path = f"/{self.run.names.index}/_stats/indexing?filter_path=_all.primaries.indexing.index_total"
        stats = self.clients.cluster.request("GET", path)[1]
        return bool(stats["_all"]["primaries"]["indexing"]["index_total"])

    def _wait_until(self, happened: Callable[[], bool], failure: str) -> None:
        """Return once it has happened, or Rally has ended; raises StackError if Rally fails, or neither comes."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            self._program.check()
            if self._program.ended_s is not None or happened():
                return
            if time.monotonic() > deadline_s:
                raise StackError(f"Rally: {failure} within {PATIENCE_S:.0f} s", self._program.last_lines())
            self.run.progress.update(0)
            time.sleep(POLL_S)

    def follow(self, latest: Latest) -> None:
        """Wait until the index has every document, or Rally has ended.

        Raises:
            StackError: Rally fails, or nothing moves any more.
        """
        run, documents = self.run, self.run.dataset.documents
        run.progress.begin("load", "indexing", documents)
        watch = DrainWatch(documents, self.section.timeout_s, goal="indexed")
        while not watch.done(latest()):
            self._program.check()
            if self._program.ended_s is not None:
                wait_for_sample_after(self._program.ended_s, latest)
                return
            run.progress.update(watch.position, watch.detail)
            time.sleep(POLL_S)

    def settle(self, latest: Latest) -> None:
        """Wait for Rally, which reads the counters before it ends, and then as every load does."""
        self.finish()
        super().settle(latest)

    def finish(self) -> None:
        """Wait for Rally's report, after the load, and keep it; nothing of Rally's runs any more.

        Raises:
            StackError: Rally fails, does not end, or leaves no report.
        """
        run = self.run
        run.progress.begin("settle", "waiting for Rally's report", None)
        self._wait_until(lambda: False, "has not ended")
        self.stop()
        kept = run.folder.path / RACE
        try:
            shutil.copyfile(race_file(self._folder, run.folder.run_id), kept)
        except OSError as error:
            raise StackError(f"Rally: wrote no race.json; its log is {run.folder.path / LOG}") from error
        entities = run.dataset.entities(0, run.dataset.documents)
        self.rally = rally_record(kept, self.section, self._corpus, entities=entities, prepared_s=self._prepared_s)
        shutil.rmtree(self._folder, ignore_errors=True)

    def refusals(self) -> tuple[str, ...]:
        """One sentence if Rally counts errors."""
        if self.rally is None or not self.rally.error_percent:
            return ()
        return (f"Rally counts {self.rally.error_percent:g} % of its bulk requests as failed; its log is {LOG}",)

    def record(self) -> dict[str, Any]:
        """The fields of `Run` about a load through Rally."""
        return {**super().record(), "rally": self.rally}

    def stop(self) -> None:
        """Stop whatever is left of Rally, and remove the corpus; Rally's own logs stay if the race has failed."""
        self.run.children.pop("rally", None)
        self._program.stop()
        for path in self._folder.glob(f"{CORPUS}*"):
            path.unlink(missing_ok=True)


def refuse_foreign_actors() -> None:
    """Raise StackError if actors of another Rally run here: a race would join them, outside of our books."""
    with socket.socket() as connection:
        connection.settimeout(1.0)
        if connection.connect_ex(ACTORS) == 0:
            host, port = ACTORS
            raise StackError(f"{host}:{port}: Rally's actors run already, expected none; wait for that race, or end it")


def rally_record(race: Path, load: Rally, corpus: Corpus, *, entities: int, prepared_s: float) -> RallyLoad:
    """What Rally says it did; raises StackError if its `race.json` is not as expected."""
    try:
        version = str(json.loads(race.read_bytes())["rally-version"])
        errors = [line.value for line in read_summary(race) if line.metric == "error rate"]
    except (ProfileError, KeyError, TypeError, ValueError) as error:
        raise StackError(f"{race}: not as Rally 2.13 writes it: {error}") from error
    if len(errors) != 1 or errors[0] is None:
        raise StackError(f"{race}: got {len(errors)} error rates, expected that of one bulk task")
    return RallyLoad(
        version=version,
        clients=load.clients,
        bulk_size=load.bulk_size,
        source_bytes=corpus.source_bytes,
        entities=entities,
        corpus_bytes=corpus.corpus_bytes,
        prepared_s=prepared_s,
        error_percent=errors[0],
    )
