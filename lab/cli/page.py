"""`sluice page`: runs, suites and tunes in a browser; and the page that other commands serve meanwhile."""

import contextlib
import getpass
import os
import shlex
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from lab.cli.options import RUNS, RunsOption
from lab.console import console
from lab.errors import ProfileError
from lab.page.serve import HERE, listening, new_token, page_beside
from lab.run.folder import check_runs

PASSWORD = "SLUICE_PAGE_PASSWORD"  # noqa: S105 - where the password stands, not a password
LEAST_CHARACTERS = 12


def page(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 0,
    bind: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help=f"Address to listen at. Another one than this machine's own needs a password, in {PASSWORD} or typed.",
        ),
    ] = HERE,
    runs: RunsOption = RUNS,
) -> None:
    """Show runs, suites and tunes in a browser, live and past; start, stop and compare them. Ends with Ctrl-C."""
    check_runs(runs)
    bind = known_address(bind)
    password = None if is_here(bind) else page_password(bind)
    with listening(bind, port) as taking:
        from lab.page.server import Page  # noqa: PLC0415 - the help needs no server

        served = Page(taking, runs.absolute(), new_token(), host=bind, password=password)
        console.print(f"page: {served.access.address}", soft_wrap=True, markup=False)
        try:
            served.serve()
        except KeyboardInterrupt:
            console.print("stopped")  # which is how it is meant to end


def known_address(address: str) -> str:
    """An address as browsers write it; raises ProfileError if it is none, or one that no browser can call."""
    if address == "localhost":
        return address
    try:
        known = ip_address(address)
    except ValueError:
        known = None
    if known is None or known.is_unspecified:
        raise ProfileError(f"--bind: got {address}, expected an address of this machine, such as 192.168.1.7 or {HERE}")
    return str(known)


def is_here(address: str) -> bool:
    """Whether only this machine can reach an address."""
    return address == "localhost" or ip_address(address).is_loopback


def page_password(address: str) -> str:
    """The password for a page that other machines can reach: from the environment, or typed twice.

    Raises:
        ProfileError: There is none, or it is too short to be one.
    """
    password = os.environ.pop(PASSWORD, None)
    if password is None:
        if not sys.stdin.isatty():
            raise ProfileError(f"--bind {address}: got no password, expected one in {PASSWORD}")
        password = getpass.getpass("Password for the page: ")
        if getpass.getpass("Once more: ") != password:
            raise ProfileError(f"--bind {address}: got two different passwords, expected the same one twice")
    if len(password) < LEAST_CHARACTERS:
        raise ProfileError(
            f"--bind {address}: got a password of {len(password)} characters, expected {LEAST_CHARACTERS} or more"
        )
    return password


@contextlib.contextmanager
def meanwhile(wanted: bool | None, runs: Path) -> Iterator[None]:  # noqa: FBT001 - the option as it was given
    """Serve the page while a command works, if somebody may look at it."""
    if not is_wanted(wanted):
        yield
        return

    from lab.targets.servers import typed_command  # noqa: PLC0415 - commands without a page need none of that

    def announce(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False)

    with page_beside(runs, shlex.join(typed_command()), announce):
        yield


def is_wanted(wanted: bool | None) -> bool:  # noqa: FBT001 - the option as it was given
    """Whether a command serves the page: as its option says, or else where a person sees the address.

    Scripts and CI have their output piped, or say that they are CI: they are spared the process.
    """
    return console.is_terminal and not os.environ.get("CI") if wanted is None else wanted
