"""Runs that tests make phases of: on no servers, with clients that keep what they are asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.profiles import load_profile
from lab.run.folder import RunFolder
from lab.run.load_kinds.base import Clients, Loading
from lab.run.phases import RunContext
from tests.unit.producers.fakes import NumberedDocuments
from tests.unit.run.displays import SilentProgress

ENDPOINTS = Endpoints("127.0.0.1:1", "http://127.0.0.1:1", ("http://127.0.0.1:1",), None)
DOCUMENTS = 1009


def context_of(folder: Path, name: str = "quickstart", *overrides: str, **others: Any) -> RunContext:
    """A run of a profile with 1,009 numbered documents; `target` changes fields of the target."""
    target = Target("local", ENDPOINTS, process_ids=dict, servers=(), java_versions={}, fresh=False)
    return RunContext(
        load_profile(name, overrides=overrides),
        NumberedDocuments(DOCUMENTS),
        replace(target, **others.pop("target", {})),
        RunFolder(folder, "20260101-000007"),
        **others,
        progress=SilentProgress(),
    )


class Recorder:
    """Stands in for anything: keeps the names of its methods in the order of their calls, and answers as it is told.

    Args:
        calls: Takes the calls; several recorders may share one.
        name: Prefix of each call.
        answers: Method → its answer, or a function that gives one.
    """

    def __init__(self, calls: list[str], name: str, **answers: Any) -> None:
        self.__dict__.update(calls=calls, name=name, answers=answers)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(f"{self.name}.{method}")
            answer = self.answers.get(method)
            return answer(*arguments, **named) if callable(answer) else answer

        return call


def clients(calls: list[str], cluster: Mapping[str, Any] | None = None) -> Clients:
    """Clients whose calls are kept; `cluster` has answers of Elasticsearch's."""
    made = {"cluster": Recorder(calls, "cluster", **(cluster or {})), "worker": Recorder(calls, "worker")}
    return cast("Clients", SimpleNamespace(**made, kafka=Recorder(calls, "kafka")))


def phases_of(loading: Loading[Any], calls: list[str]) -> None:
    """Go through the phases of a load; each is noted among the calls before its work."""
    for phases in (loading.phases_before_samples(), loading.phases(lambda: None)):
        for name, work in phases:
            calls.append(f"[{name}]")
            work()
