"""What a node is started with on a Java that lacks some of a JDK's modules, as small runtimes do."""

import re
import zipfile
from pathlib import Path
from typing import Final

from lab.stack.jdk import Jdk

NAMED_ONLY: Final = {"jdk.jdi": "jdk.zipfs", "jdk.jlink": "jdk.httpserver"}
"""What Elasticsearch's module `entitlement` requires from 8.19 on without a call into it → what its copy requires."""

DESCRIPTION: Final = "module-info.class"


def present_modules(jdk: Jdk) -> frozenset[str] | None:
    """The modules of this Java; `None`: all of them, as its `release` file does not list any."""
    try:
        match = re.search(r'^MODULES="([^"]*)"', (jdk.home / "release").read_text("utf-8"), re.MULTILINE)
    except OSError:
        return None
    return frozenset(match[1].split()) if match else None


def with_present_modules(jvm_options: str, jdk: Jdk) -> str:
    """The JVM options without the lines that add a module which this Java lacks."""
    present = present_modules(jdk)
    if present is None:
        return jvm_options

    def is_usable(line: str) -> bool:
        added = re.search(r"--add-modules=(\S+)", line)
        return added is None or set(added[1].split(",")) <= present

    return "".join(line for line in jvm_options.splitlines(keepends=True) if is_usable(line))


def entitlement_options(home: Path, jdk: Jdk, folder: Path) -> str:
    """The JVM options with which a node finds the modules that it requires; empty where this Java has them.

    A Java without `jdk.jdi` and `jdk.jlink` ends while it starts (`Module jdk.jdi not found`), although only a module's
    description names them. There the node takes a copy of the jar that requires others; its classes are the same.

    Args:
        home: The unpacked distribution, which is left as it is.
        folder: Where the copy is written.
    """
    present = present_modules(jdk)
    if present is None or present >= NAMED_ONLY.keys():
        return ""
    copies = [_copied(jar, folder) for jar in home.glob("lib/elasticsearch-entitlement-*.jar")]
    # The node's short-lived first JVM has these options alone, and resolves the copy, too.
    return f"--upgrade-module-path={folder}\n--module-path={home / 'lib'}\n" if any(copies) else ""


def _copied(jar: Path, folder: Path) -> bool:
    """Write a copy with the other requirements, unless it is there: a node may run on it. Whether it needs one."""
    with zipfile.ZipFile(jar) as original:
        described = original.read(DESCRIPTION)
        if not any(_constant(name) in described for name in NAMED_ONLY):
            return False
        copy = folder / jar.name
        if copy.is_file():
            return True
        for name, other in NAMED_ONLY.items():
            described = described.replace(_constant(name), _constant(other))
        folder.mkdir(parents=True, exist_ok=True)
        partial = copy.with_suffix(".part")
        with zipfile.ZipFile(partial, "w") as content:
            for entry in original.infolist():
                content.writestr(entry, described if entry.filename == DESCRIPTION else original.read(entry))
        partial.rename(copy)
    return True


def _constant(text: str) -> bytes:
    """A string as a class file holds it: a tag, its length in two bytes, its characters."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()
