"""The base of all stand-ins: a small Debian, made from the packages that this machine's apt knows."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.stack.artifacts import locked
from tests.compose.engine import Engine
from tests.compose.machine import EngineMissingError, needed_program, succeeded

NAME = "sluice-test/base"
BOOTSTRAP_TIMEOUT_S = 600

PACKAGES = (
    "bash",
    "busybox",
    "ca-certificates",
    "curl",
    "libstdc++6",
    "passwd",
    "procps",
    "python3",
    "python3-venv",
    "tini",
    "zlib1g",
)
"""Each stand-in removes what its official image lacks, so that no Compose file comes to rely on it."""

SOURCE_LINE = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
CHANGES = ("ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ENV LANG=C.UTF-8", 'CMD ["bash"]')

LEFT_OUT = ("etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap", "etc/resolv.conf", "etc/hostname")
"""What would carry this machine's own settings into the image."""


@dataclass(frozen=True)
class Base:
    """The base image, whether an engine has it or not.

    Attributes:
        folder: Where its tar is kept, for other engines.
    """

    folder: Path
    suite: str

    @property
    def _key(self) -> str:
        return hashlib.sha256(repr((self.suite, PACKAGES, LEFT_OUT, CHANGES)).encode()).hexdigest()[:12]

    @property
    def tag(self) -> str:
        """Its name: another one for another content."""
        return f"{NAME}:{self.suite}-{self._key}"

    def archive(self) -> Path:
        """Its tar, made on first use.

        Raises:
            EngineMissingError: It cannot be made here.
        """
        archive = self.folder / f"base-{self.suite}-{self._key}.tar"
        with locked(archive.with_suffix(".lock")):
            if not archive.is_file():
                bootstrap(self.suite, archive)
        return archive

    def image(self, engine: Engine) -> str:
        """Its tag; the engine has it from now on."""
        if engine.docker("image", "inspect", self.tag, check=False).returncode:
            changes = [word for change in CHANGES for word in ("--change", change)]
            engine.docker("import", *changes, str(self.archive()), self.tag)
        return self.tag


def debian_python() -> str:
    """The Python of this machine's Debian, as `3.11`; the one of the base image is the same."""
    known = succeeded("apt-cache", "show", "--no-all-versions", "python3", timeout_s=60)
    found = re.search(r"^Version: (\d+\.\d+)\.", known, re.MULTILINE)
    if found is None:
        raise EngineMissingError("apt knows no python3; run: apt-get update")
    return found[1]


def debian_suite() -> str:
    """The code name of this machine's Debian."""
    try:
        release = Path("/etc/os-release").read_text()
    except OSError:
        release = ""
    found = re.search(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
    if found is None or not re.search(r"^ID=debian$", release, re.MULTILINE):
        raise EngineMissingError("the base image of the test images is made from a Debian's own packages; this is none")
    return found[1]


def bootstrap(suite: str, archive: Path) -> None:
    """Make the base image's tar, from where this machine's apt gets its packages and by its settings.

    Raises:
        EngineMissingError: We are not root, or packages cannot be had.
    """
    if os.geteuid() != 0:
        raise EngineMissingError("the base image of the test images can be made by root only")
    mmdebstrap = needed_program("mmdebstrap", package="mmdebstrap")
    unfinished = archive.with_suffix(".part.tar")
    unfinished.unlink(missing_ok=True)
    with TemporaryDirectory(prefix="sluice-base-image-") as work:
        settings = Path(work) / "apt.conf"
        settings.write_text(apt_settings())
        succeeded(
            mmdebstrap,
            "--mode=root",
            "--variant=essential",
            f"--include={','.join(PACKAGES)}",
            f"--aptopt={settings}",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            f'--customize-hook=cd "$1" && rm -f {" ".join(LEFT_OUT)}',
            suite,
            unfinished,
            "-",
            timeout_s=BOOTSTRAP_TIMEOUT_S,
            text_in=debian_sources(),
        )
    unfinished.rename(archive)


def debian_sources() -> str:
    """Where this machine's apt gets Debian's packages, a line for each part."""
    known = succeeded(
        "apt-get",
        "indextargets",
        "--format",
        SOURCE_LINE,
        "Created-By: Packages",
        "Origin: Debian",
        timeout_s=60,
    )
    lines = dict.fromkeys(known.splitlines())
    if not lines:
        raise EngineMissingError("apt knows no source of Debian's packages; run: apt-get update")
    return "\n".join(lines) + "\n"


def apt_settings() -> str:
    """How this machine's apt reaches them: its proxies and certificates."""
    settings = succeeded("apt-config", "dump", "--no-empty", timeout_s=60).splitlines()
    return "".join(f"{line}\n" for line in settings if re.match(r"Acquire::\S*(Proxy|CaInfo|Verify)", line))
