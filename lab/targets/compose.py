"""The containers of `docker compose` in this checkout, as a run and a suite use them."""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from lab.clients.target import Target
from lab.console import console
from lab.errors import ProfileError
from lab.profiles import Direct, Profile
from lab.profiles.containers import FOLDER, env_text, environment, node_settings
from lab.records import Result
from lab.run.folder import RunFolder
from lab.run.load.availability import OURS, connector_class, missing_program
from lab.stack.compose import NODES, SERVERS, STREAM, ComposeProject, Container
from lab.stack.interrupts import uninterrupted
from lab.stack.local import LocalStack
from lab.stack.places import ROOT
from lab.suite.execution import Bench
from lab.targets.bench import started_bench
from lab.targets.containers import addresses, target_of
from lab.targets.measure import conclude, recorded
from lab.targets.remote_servers import find_remote
from producers.dataset import Dataset

SECURITY = "xpack.security.enabled"


class Compose:
    """The containers of this checkout's project: those that are there, or some that live as long as the command."""

    def __init__(self, project: ComposeProject) -> None:
        self._project = project

    def fitted(self, profile: Profile) -> Profile:
        """The profile itself: containers are started as it asks for them.

        Raises:
            ProfileError: It asks for what they cannot have.
        """
        if refusals := tuple(refusals_of(profile, self._project)):
            raise ProfileError("\n".join(refusals))
        return profile

    def run(self, profile: Profile, dataset: Dataset, runs: Path) -> tuple[RunFolder, Result]:
        """Run a fitted profile once."""
        with held(self._project) as ran:
            target = started(self._project, profile, {container.pid for container in ran.values()})
            folder = recorded(profile, dataset, target, runs)
        return folder, conclude(folder)

    @contextlib.contextmanager
    def bench(
        self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset], command: Sequence[str]
    ) -> Iterator[Bench]:
        """The servers of a suite."""
        with held(self._project):

            def start(profile: Profile, _: Iterable[Profile]) -> Target:
                return started(self._project, profile)

            with started_bench(start, profiles, datasets, command, stays=True) as bench:
                yield bench


def refusals_of(profile: Profile, project: ComposeProject) -> Iterator[str]:
    """What the profile asks for and the project's containers do not have; a sentence each."""
    if project.services[NODES[0]].get("environment", {}).get(SECURITY) == "true":
        yield (
            "--target compose: the project asks who is there (compose/secure.yaml), expected one that lets everybody "
            "in; run on it as on servers elsewhere, by --target remote"
        )
    if profile.sink.command:
        lack = missing_program(profile.sink.command[0], ROOT)
    else:
        built_with = project.services["connect"].get("build", {}).get("args", {})
        lack = missing_plugin(profile, str(built_with.get("SINK", "sluice")))
    if lack:
        yield lack
    settings = node_settings(profile)
    if settings and settings_file_of(profile) != env_text(profile.name, settings):
        yield (
            f"{profile.name}: elasticsearch.node_settings: containers have only those of a profile in "
            "experiments/profiles, as `./sluice compose-env` wrote them; run it without --target compose"
        )


def missing_plugin(profile: Profile, sink: str) -> str | None:
    """What to say when the worker's image does not have the connector.

    Args:
        sink: The plugin that the image is built with.
    """
    name = connector_class(profile, ROOT)
    if isinstance(profile.load, Direct) or name is None or "." not in name or name.startswith((OURS, f"io.{sink}.")):
        return None
    return (
        f"sink.connector: {profile.sink.connector}: the worker's image (SINK={sink}) has no plugin with the class "
        f"{name}; run it without --target compose"
    )


def settings_file_of(profile: Profile) -> str | None:
    """The file of node settings that containers read for a profile of that name."""
    try:
        return (ROOT / FOLDER / f"{profile.name}.settings.env").read_text(encoding="utf-8")
    except OSError:
        return None


def variables_of(profile: Profile) -> dict[str, str]:
    """The variables of the Compose files for the profile; whatever `.env` chooses must not get among them."""
    known = (ROOT / FOLDER / f"{profile.name}.env").is_file()
    return {"EXPERIMENT": profile.name if known and node_settings(profile) else "quickstart", **environment(profile)}


@contextlib.contextmanager
def held(project: ComposeProject) -> Iterator[dict[str, Container]]:
    """The project for this command alone, with what ran before; what did not run then is stopped at the end."""
    stack = LocalStack()
    with stack.exclusively():
        stack.remove_orphans()
        ran = project.containers()
        if streaming := [service for service in STREAM if service in ran]:
            project.stop(streaming)
            console.print(
                "the stream of this project is stopped; go on with it by: docker compose up --detach", soft_wrap=True
            )
        try:
            yield ran
        finally:
            with uninterrupted():
                project.stop(service for service in project.containers() if service not in ran)


def started(project: ComposeProject, profile: Profile, before: Collection[int] = ()) -> Target:
    """The containers in the shape that the profile asks for, as a run uses them.

    Args:
        before: First processes of the containers that ran before.
    """
    with console.status("starting containers") as status:
        project.up(SERVERS, variables_of(profile), lambda line: status.update(escape(line)))
    containers = project.containers()
    return target_of(find_remote(addresses(containers)), containers, project.engine(), before)
