"""The machine's Java development kits, and which server can run on which."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.engines.java import NEWEST_KNOWN, JavaRange
from lab.errors import ProfileError, StackError
from lab.stack.artifacts import version_key

SEARCHED = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/Library/Java/JavaVirtualMachines", "~/.sdkman/candidates/java")
JVM_OPTIONS = "SLUICE_JVM_OPTIONS"
OLDEST_FOR_KAFKA = 17


@dataclass(frozen=True)
class Jdk:
    """A Java development kit, or a runtime, which has no compiler.

    Attributes:
        home: What `JAVA_HOME` would be.
        feature: Its feature release: 17, 21, 25 …
        version: Its full version, `17.0.15`.
    """

    home: Path
    feature: int
    version: str

    @property
    def java(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"


def java_for_kafka() -> JavaRange:
    """The Java releases that a Kafka 4 broker, a Connect worker and the plugin's compiler run on."""
    return JavaRange(OLDEST_FOR_KAFKA, NEWEST_KNOWN)


def extra_jvm_options(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The options that the environment asks for, for the JVM of every server that is started here.

    Only those of the JVM itself, which a run records; properties (`-D…`) are left out, as they may hold a secret.

    Raises:
        ProfileError: One of them is something else.
    """
    options = tuple(environment.get(JVM_OPTIONS, "").split())
    for word in options:
        if not word.startswith("-X"):
            raise ProfileError(f"{JVM_OPTIONS}: got {word}, expected options that begin with -X, such as -XX:+UseZGC")
    return options


def read_jdk(home: Path) -> Jdk | None:
    """The JDK at `home`; `None` if there is no compiler there."""
    return read_java(home) if (home / "bin" / "javac").exists() else None


def read_java(home: Path) -> Jdk | None:
    """The Java at `home`, from its `release` file; `None` if that is not readable, or there is no launcher."""
    try:
        match = re.search(r'^JAVA_VERSION="(\d[^"]*)"', (home / "release").read_text("utf-8"), re.MULTILINE)
    except OSError:
        return None
    if match is None or not (home / "bin" / "java").exists():
        return None
    numbers = version_key(match[1])
    return Jdk(home, numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0], match[1])


def refuse_wrong_java_home() -> None:
    """Raise ProfileError for a `JAVA_HOME` without a JDK, which would be passed over in silence."""
    home = os.environ.get("JAVA_HOME")
    if home and read_jdk(Path(home)) is None:
        raise ProfileError(f"JAVA_HOME: got {home}, expected the folder of a JDK (with bin/javac); correct or unset it")


def candidate_homes() -> Iterable[Path]:
    """Where a JDK may be: `JAVA_HOME` first, then that of the `java` on the path, then the usual folders."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if launcher := shutil.which("javac"):
        yield Path(launcher).resolve().parents[1]
    for folder in SEARCHED:
        for home_dir in sorted(Path(folder).expanduser().glob("*")):
            yield home_dir
            yield home_dir / "Contents" / "Home"


def find_jdks() -> tuple[Jdk, ...]:
    """Every JDK found on this machine, in the order of `candidate_homes`, each once."""
    jdks = (read_jdk(home.resolve()) for home in candidate_homes())
    return tuple({jdk.home: jdk for jdk in jdks if jdk is not None}.values())


def choose_jdk(jdks: Sequence[Jdk], supported: JavaRange, purpose: str) -> Jdk:
    """`JAVA_HOME`'s JDK if it is in the range, otherwise the newest that is.

    Raises:
        StackError: There is none; the message has the command that installs one.
    """
    usable = [jdk for jdk in jdks if jdk.feature in supported.features]
    home = os.environ.get("JAVA_HOME")
    for jdk in usable:
        if home and jdk.home == Path(home).resolve():
            return jdk
    if usable:
        return max(usable, key=lambda jdk: version_key(jdk.version))
    available = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in jdks) or "none"
    raise StackError(
        f"{purpose}: needs a JDK {supported}, found {available}; install one with: {install_command(supported)}, "
        "or set JAVA_HOME to where one is"
    )


def install_command(supported: JavaRange) -> str:
    """The command that installs a JDK in the range on Debian or Ubuntu."""
    package = next((feature for feature in (17, 21, 25) if supported.oldest <= feature <= supported.newest), 25)
    return f"apt-get install openjdk-{package}-jdk-headless"
