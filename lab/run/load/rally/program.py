"""Rally's program: where it is, and whether it can race on the servers of a run."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from lab.clients.target import cluster_of
from lab.endpoints import Endpoints
from lab.engines import Engine
from lab.errors import StackError
from lab.profiles import Profile

ESRALLY = "SLUICE_ESRALLY"
OLDEST, TOO_NEW = (2, 12), (3,)
REFUSES_ROOT = (8,)
"""From this release on, the builds of Elasticsearch that run here lack the module that answers GET /."""
ANSWERS_WITHIN_S = 60.0


def why_not_rally(profile: Profile) -> str | None:
    """In one sentence, why Rally cannot send this profile's documents from this machine; `None` if it can."""
    if profile.load.via != "rally":
        return None
    program = esrally()
    if program is None:
        if given := os.environ.get(ESRALLY):
            return f"{ESRALLY}: {given}: no such program, expected that of Rally (esrally)"
        return (
            "load.via: rally: no program esrally here; install Rally (`pip install esrally==2.13.0`, best into an "
            f"environment of its own), then have esrally in PATH or name it in {ESRALLY}"
        )
    return why_not_version(program, version_text(program))


def why_not_version(program: str, text: str) -> str | None:
    """What to say of a program that is not a Rally whose reports and options are known."""
    match = re.search(r"\besrally (\d+)\.(\d+)", text)
    version = tuple(map(int, match.groups())) if match else ()
    if OLDEST <= version < TOO_NEW:
        return None
    first = next(iter(text.splitlines()), "no answer")
    return f'{program}: --version: got "{first}", expected "esrally 2.12" or a later 2'


def why_not_engine(profile: Profile, engine: Engine) -> str | None:
    """What to say where the servers are not Elasticsearch, which Rally refuses in the midst of its race."""
    if profile.load.via != "rally" or engine.has_rally:
        return None
    return f"load.via: rally: got {engine.title}, expected Elasticsearch, the only servers that Rally races on"


def why_not_rally_here(profile: Profile) -> str | None:
    """The same, on servers that are started on this machine."""
    if lack := why_not_engine(profile, profile.release.engine):
        return lack
    version = profile.release.version
    if profile.load.via == "rally" and profile.release.numbers >= REFUSES_ROOT:
        place = profile.where.get("elasticsearch.version", profile.name)
        return (
            f"{place}: elasticsearch.version: got {version}, expected one before 8, such as 7.17.7: later builds that "
            "run here refuse GET /, with which Rally begins"
        )
    return why_not_rally(profile)


def why_not_rally_on(endpoints: Endpoints, profile: Profile) -> str | None:
    """The same, on servers that exist already."""
    if lack := why_not_rally(profile):
        return lack
    if profile.load.via != "rally":
        return None
    access, url = endpoints.access.elasticsearch, endpoints.elasticsearch_urls[0]
    if access.authorization or url.startswith("https:"):
        return (
            "load.via: rally: the cluster requires TLS or credentials, expected an open one; "
            "Sluice gives Rally no credentials"
        )
    try:
        with closing(cluster_of(endpoints, ANSWERS_WITHIN_S)) as cluster:
            cluster.request("GET", "/", patience_s=0)
    except StackError as error:
        return f"load.via: rally: {url}: {error}; expected an answer to GET /, with which Rally begins"
    return None


def esrally() -> str | None:
    """The path of Rally's program; `None` where there is none."""
    program = shutil.which(os.environ.get(ESRALLY) or "esrally")
    # Rally is started in another folder than this command.
    return program and str(Path(program).absolute())


@functools.cache
def version_text(program: str) -> str:
    """What the program says of its version, or why it says nothing."""
    with tempfile.TemporaryDirectory() as home:
        try:
            done = subprocess.run(
                [program, "--version"],
                env={**os.environ, "RALLY_HOME": home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=ANSWERS_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return (done.stdout or done.stderr).strip()
