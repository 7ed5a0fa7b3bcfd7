"""`sluice publish` and `sluice dashboards`: a recorded run in an Elasticsearch, and what Kibana shows it by."""

import os
import ssl
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.markup import escape

from lab.analysis.folder import read_run
from lab.cli.options import RUNS, ApiKeyEnv, Ca, PasswordEnv, RunArgument, RunsOption, User, with_groups
from lab.console import console
from lab.endpoints import HttpAccess, api_key, basic, tls_context
from lab.errors import ProfileError
from lab.publish import monitoring
from lab.publish.kibana import dashboard_address, import_objects, monitoring_address
from lab.publish.monitoring import LEAST_BUCKET_S
from lab.publish.publish import Publication
from lab.publish.publish import publish as send
from lab.publish.server import Server
from lab.run.folder import find_run


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Ways to authenticate at a server."""

    api_key_env: ApiKeyEnv = None
    user: User = None
    password_env: PasswordEnv = None
    ca: Ca = None


@with_groups
def publish(
    run: RunArgument = "latest",
    *,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Elasticsearch that Kibana reads.")],
    kibana: Annotated[
        str | None,
        typer.Option(
            "--kibana", metavar="URL", help="Also import the dashboard into this Kibana, and print its address."
        ),
    ] = None,
    bucket: Annotated[
        int,
        typer.Option(min=1, metavar="S", help="Stack Monitoring: seconds between two points of its charts."),
    ] = LEAST_BUCKET_S,
    stack_monitoring: Annotated[
        bool | None,
        typer.Option(
            "--stack-monitoring/--no-stack-monitoring",
            metavar="",
            help="Also send documents for Stack Monitoring; by default if no other cluster is monitored there.",
        ),
    ] = None,
    authentication: AccessOptions,
    runs: RunsOption = RUNS,
) -> None:
    """Send a finished run to an Elasticsearch, for Kibana. You can repeat it."""
    access = access_of(**vars(authentication))
    folder = read_run(find_run(runs, run))
    with closing(Server(server_url(to, "--to"), access)) as server:
        published = send(folder, server, bucket, stack_monitoring=stack_monitoring)
    for index, documents in published.documents.items():
        console.print(f"{index}: {documents:,} documents of run {escape(folder.run.run_id)}", soft_wrap=True)
    if monitoring.INDEX in published.documents:
        print_buckets(published, bucket)
    elif published.other_clusters:
        print_other_clusters(published)
    if kibana is None:
        console.print("Add --kibana URL to import the dashboard and print its address", soft_wrap=True)
        return
    print_import(server_url(kibana, "--kibana"), access)
    window = (published.first_s - 2 * bucket, published.last_s + 2 * bucket)
    name = f"{folder.run.profile} {folder.run.run_id}"
    console.print(f"dashboard:        {dashboard_address(kibana, name)}", soft_wrap=True, markup=False)
    if monitoring.INDEX in published.documents:
        console.print(f"Stack Monitoring: {monitoring_address(kibana, *window)}", soft_wrap=True, markup=False)


@with_groups
def dashboards(
    kibana: Annotated[str, typer.Option("--kibana", metavar="URL", help="Kibana.")],
    *,
    authentication: AccessOptions,
) -> None:
    """Import data view, panels and dashboard into a Kibana. You can repeat it."""
    print_import(server_url(kibana, "--kibana"), access_of(**vars(authentication)))


def print_buckets(published: Publication, bucket_s: int) -> None:
    """What Stack Monitoring's charts will look like, and which setting they need."""
    buckets, empty = published.buckets, published.buckets_empty
    setting = "monitoring.ui.min_interval_seconds"
    fits = "which is Kibana's default" if bucket_s == LEAST_BUCKET_S else "which kibana.yml has to set"
    console.print(
        f"Stack Monitoring: {buckets} points, {bucket_s} s apart; {setting}: {bucket_s}, {fits}", soft_wrap=True
    )
    if empty:
        console.print(
            f"{empty} of them have no answer from Elasticsearch; Kibana skips them and the next one; a larger "
            f"--bucket (and {setting}) skips fewer",
            soft_wrap=True,
        )


def print_other_clusters(published: Publication) -> None:
    """Why Stack Monitoring documents were left out."""
    console.print(
        f"Stack Monitoring: skipped, because cluster {escape(published.other_clusters[0])} is monitored there, and "
        "Kibana with a basic licence opens only one cluster; --stack-monitoring sends them anyway",
        soft_wrap=True,
    )


def print_import(url: str, access: HttpAccess) -> None:
    """Import Kibana's objects and say so."""
    console.print(f"Kibana: {import_objects(url, access)} objects imported", soft_wrap=True)


def server_url(text: str, option: str) -> str:
    """An address as a user has written it.

    Raises:
        ProfileError: It is none, or holds a password, which would then stand in the shell's history and in messages.
    """
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise ProfileError(f"{option}: got {text}, expected an address such as http://localhost:9200")
    if "@" in parts.netloc:
        raise ProfileError(f"{option}: got an address with a user in it, expected --user and --password-env instead")
    return text


def access_of(api_key_env: str | None, user: str | None, password_env: str | None, ca: Path | None) -> HttpAccess:
    """The credentials and authorities of the options.

    Raises:
        ProfileError: The options contradict each other, or name something that is not there.
    """
    if api_key_env and (user or password_env):
        raise ProfileError("--api-key-env: got --user or --password-env as well, expected one way to authenticate")
    if bool(user) != bool(password_env):
        raise ProfileError("--user, --password-env: got one of them, expected both or neither")
    key = from_environment("--api-key-env", api_key_env) if api_key_env else None
    password = from_environment("--password-env", password_env) if password_env else None
    if ca:
        try:
            tls_context(ca)
        except (OSError, ssl.SSLError) as error:
            raise ProfileError(f"--ca: {ca}: got {error.strerror or error}, expected certificates as PEM") from error
    if key:
        return HttpAccess(api_key(key), ca)
    return HttpAccess(basic(user, password) if user and password else None, ca)


def from_environment(option: str, name: str) -> str:
    """The secret that a variable holds; raises ProfileError if there is none."""
    if secret := os.environ.get(name):
        return secret
    raise ProfileError(f"{option}: {name}: is not set, expected an environment variable that holds the secret")
