"""Hosts within this machine: network namespaces on a bridge, each with an address, an ssh server and a launcher."""

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.compose.machine import EngineMissingError, needed_program
from tests.integration.conftest import ROOT

NETWORK = "198.18.77"
"""Of the addresses for tests of network devices (RFC 2544), which nobody uses otherwise."""
BRIDGE_ADDRESS = f"{NETWORK}.1"
SSH_SERVER = """
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
"""
SSH_CLIENT = """
Host *
  User root
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""
LAUNCHER = """#!/bin/sh
# A shell over ssh has none of the variables of the tests.
export PATH='{path}' SLUICE_CACHE='{cache}'
# Before all others: its schedule is kept, whatever else the tests do meanwhile.
if chrt --rr 1 true 2>/dev/null; then first='chrt --rr 1'; else first='nice -n -15'; fi
exec {prefix} $first '{root}/sluice' "$@"
"""


class NoHostsError(Exception):
    """There can be no such hosts on this machine; the message says why."""


@dataclass(frozen=True)
class Host:
    """A network namespace.

    Attributes:
        folder: Holds its launcher, `sluice`.
    """

    name: str
    address: str
    folder: Path

    def launcher(self, *prefix: str) -> None:
        """Make its launcher; words before it change how it runs, such as its clock."""
        cache = os.environ.get("SLUICE_CACHE", "/var/cache/sluice")
        file = self.folder / "sluice"
        file.write_text(
            LAUNCHER.format(path=os.environ["PATH"], cache=cache, prefix=" ".join(prefix), root=ROOT), "utf-8"
        )
        file.chmod(0o755)

    def start(self, line: str) -> subprocess.Popen[str]:
        """Start a command line as somebody types it there, in the folder of the launcher."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, "sh", "-c", f"exec {line}"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@contextlib.contextmanager
def hosts(number: int, folder: Path) -> Iterator[list[Host]]:
    """So many hosts, which reach this machine at `BRIDGE_ADDRESS`.

    Raises:
        NoHostsError: We are not root, or may not make namespaces.
    """
    if os.geteuid() != 0:
        raise NoHostsError("only root may make network namespaces")
    if shutil.which("ip") is None:
        raise NoHostsError("ip: not there; it is in the package iproute2")
    names = [f"sl{os.getpid()}-{host}" for host in range(1, number + 1)]
    bridge = f"sl{os.getpid()}"
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{BRIDGE_ADDRESS}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        yield [joined(name, f"{NETWORK}.{10 + place}", bridge, folder) for place, name in enumerate(names)]
    except subprocess.CalledProcessError as error:
        raise NoHostsError(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from error
    finally:
        for words in (*(("netns", "del", name) for name in names), ("link", "del", bridge)):
            subprocess.run(["ip", *words], check=False, capture_output=True)


def joined(name: str, address: str, bridge: str, folder: Path) -> Host:
    """A namespace with an end of a cable whose other end is in the bridge."""
    ip("netns", "add", name)
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", name, "master", bridge, "up")
    ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
    ip("-n", name, "link", "set", "eth0", "up")
    ip("-n", name, "link", "set", "lo", "up")
    own = folder / name
    own.mkdir()
    host = Host(name, address, own)
    host.launcher()
    return host


def ip(*words: str) -> None:
    """Change the network of this machine."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def ssh_servers(there: list[Host], folder: Path) -> Iterator[Path]:
    """An ssh server on each host; a folder with an `ssh` for the path that is let in.

    Raises:
        NoHostsError: No server can be had.
    """
    try:
        server = needed_program("sshd", package="openssh-server")
        client = needed_program("ssh", package="openssh-client")
    except EngineMissingError as error:
        raise NoHostsError(str(error)) from error
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    (folder / "client").write_text(SSH_CLIENT.format(folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {client} -F {folder}/client "$@"\n')
    (programs / "ssh").chmod(stat.S_IRWXU)
    with contextlib.ExitStack() as leaving:
        for host in there:
            config = folder / f"{host.name}.sshd"
            config.write_text(SSH_SERVER.format(address=host.address, folder=folder))
            log = leaving.enter_context((folder / f"{host.name}.log").open("wb"))
            command = ["ip", "netns", "exec", host.name, server, "-D", "-e", "-f", str(config)]
            running = subprocess.Popen(command, stdout=log, stderr=log)
            leaving.callback(running.wait)
            leaving.callback(running.terminate)
        yield programs


def clock_ahead(folder: Path) -> tuple[str, ...]:
    """Words before a command that show it, and all that it starts, a wall clock 300 ms ahead.

    Raises:
        NoHostsError: They cannot be had.
    """
    library = folder / "clock_ahead.so"
    try:
        compiler = needed_program("cc", package="gcc libc6-dev")
    except EngineMissingError as error:
        raise NoHostsError(str(error)) from error
    source = Path(__file__).with_name("clock_ahead.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True)
    return ("env", "CLOCK_AHEAD_MS=300", f"LD_PRELOAD={library}")
