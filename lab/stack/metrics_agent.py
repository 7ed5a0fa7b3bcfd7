"""The agent that makes a Connect worker's metrics readable over HTTP: Jolokia, with a policy and a password."""

import os
import secrets
from pathlib import Path

from lab.endpoints import HttpAccess, basic
from lab.stack.places import ROOT
from lab.stack.ports import LOOPBACK

POLICY = ROOT / "connect" / "etc" / "jolokia-access.xml"
SETTINGS = ROOT / "connect" / "etc" / "jolokia.properties"
USER = "sluice"
PASSWORD = "password="  # noqa: S105 - the key of the line, not the secret


def jvm_option(agent: Path, config: Path) -> str:
    """The JVM option that loads the agent with this configuration; Jolokia splits its options at commas."""
    return f"-javaagent:{agent}=config={str(config).replace(',', chr(92) + ',')}"


def configure(config: Path, port: int) -> None:
    """Write the agent's configuration, which nobody else may read.

    A worker that is started again keeps its password: a run that goes on meanwhile has read it before.
    """
    try:
        secret = password(config)
    except (OSError, StopIteration):
        secret = secrets.token_urlsafe(24)
    own = {
        "host": LOOPBACK,
        "port": port,
        # With another kind of URL, or none, a policy that is not found allows everything; a missing file, nothing.
        "policyLocation": POLICY.as_uri(),
        "user": USER,
    }
    lines = [f"{name}={value}" for name, value in own.items()]
    text = "\n".join([SETTINGS.read_text("utf-8"), *lines, f"{PASSWORD}{secret}\n"])
    partial = config.with_suffix(".part")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - with its mode
        file.write(text)
    partial.rename(config)


def password(config: Path) -> str:
    """The agent's password; raises OSError if the configuration cannot be read."""
    lines = config.read_text("utf-8").splitlines()
    return next(line.removeprefix(PASSWORD) for line in lines if line.startswith(PASSWORD))


def access(secret: str) -> HttpAccess:
    """How to authenticate at the agent with its password."""
    return HttpAccess(basic(USER, secret))


def rules() -> tuple[str, str]:
    """What an agent that runs was started with; with another policy its server must be started anew."""
    return SETTINGS.read_text("utf-8"), POLICY.read_text("utf-8")
