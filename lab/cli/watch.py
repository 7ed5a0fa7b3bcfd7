"""`sluice watch`: a stream that is under way, sampled and sent as it goes, so that Kibana shows it."""

import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lab.cli.publish import KIBANA, ApiKeyEnv, Ca, PasswordEnv, User, access_of, server_url
from lab.console import console
from lab.profiles import load_profile, override
from lab.profiles.remote import load_remote
from lab.publish.kibana import dashboard_address
from lab.publish.publish import prepare_samples
from lab.publish.server import Server
from lab.publish.watch import Pipeline, Watch
from lab.targets.choose import remote_file

KIBANAS_GRAIN_S = 10.0


def watch(
    profile: Annotated[str, typer.Argument(help="Profile that is under way.")],
    *,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Elasticsearch that Kibana reads.")],
    target_file: Annotated[
        Path | None,
        typer.Option("--target-file", metavar="FILE", help="Where the servers are; else variables SLUICE_… say so."),
    ] = None,
    path: Annotated[
        str | None, typer.Option(envvar="SLUICE_STREAM_PATH", help="NDJSON file of the dataset `file`.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(envvar="SLUICE_STREAM_KEY", help="Field of that file that holds the key.")
    ] = None,
    interval: Annotated[
        float, typer.Option(min=1.0, metavar="SECONDS", help="From sample to sample.")
    ] = KIBANAS_GRAIN_S,
    heartbeat: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to touch as long as samples arrive.")
    ] = None,
    kibana: Annotated[str, typer.Option("--kibana", metavar="URL", help="Kibana, for the address printed.")] = KIBANA,
    api_key_env: ApiKeyEnv = None,
    user: User = None,
    password_env: PasswordEnv = None,
    ca: Ca = None,
) -> None:
    """Sample a stream that is under way and send the samples as they are taken, until it is told to stop."""
    given = {"dataset.path": path, "dataset.key": key}
    chosen = load_profile(profile, overrides=[override(name, value) for name, value in given.items() if value])
    access = access_of(api_key_env, user, password_env, ca)
    pipeline = Pipeline(chosen, load_remote(remote_file(target_file)))
    server = Server(server_url(to, "--to"), access)
    try:
        prepare_samples(server)
        console.print(f"dashboard: {dashboard_address(kibana)}", soft_wrap=True, markup=False)
        beat = heartbeat.touch if heartbeat else object
        Watch(chosen.name, pipeline, server, interval_s=interval, log=say, heartbeat=beat).run(threading.Event())
    except KeyboardInterrupt:
        say("stopped")  # which is how it is meant to end
    finally:
        pipeline.close()
        server.close()


def say(sentence: str) -> None:
    """A line of the log."""
    console.print(escape(sentence), soft_wrap=True)
