"""The sink plugin, built on a copy of its project: by Maven, for developers, and by the lab itself."""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from lab.stack.places import ROOT
from tools.maven import jdk

CALL = re.compile(r"= (?:Field|Method|InterfaceMethod)ref\s+\S+\s+// (javax?/\S+)")


def copy_of_the_project(folder: Path) -> Path:
    """A copy: other tests run workers with the plugin meanwhile, and must not see it made anew."""
    shutil.copytree(ROOT / "connect", folder / "connect", ignore=shutil.ignore_patterns("target"))
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "LICENSE", folder)
    keys = Path("lab", "profiles", "connector_keys.txt")
    (folder / keys).parent.mkdir(parents=True)
    shutil.copy(ROOT / keys, folder / keys)
    return folder / "connect"


def plugin_files(target: Path) -> dict[str, Path]:
    """The jars of the plugin folders, by their path."""
    return {str(path.relative_to(target)): path for path in target.glob("*plugin/*/*")}


def entries(jar: Path) -> dict[str, bytes]:
    """What a jar holds, beside what only says how it was made."""
    with zipfile.ZipFile(jar) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.startswith("META-INF/m") and not name.endswith(("/", "MANIFEST.MF"))
        }


def calls_into_java(jar: Path) -> set[str]:
    """Each field and method of Java's own classes that the classes of a jar name."""
    classes = [name.removesuffix(".class").replace("/", ".") for name in entries(jar) if name.endswith(".class")]
    javap = jdk().java.with_name("javap")
    told = subprocess.run(
        [str(javap), "-v", "-p", "-cp", str(jar), *classes], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    assert set(re.findall(r"major version: (\d+)", told)) == {"61"}
    return set(CALL.findall(told))
