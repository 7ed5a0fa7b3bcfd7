"""Java runtimes that lack modules: what is left out of a node's JVM options, and what is put in."""

import zipfile
from pathlib import Path

import pytest

from lab.stack.jdk import Jdk
from lab.stack.modules import entitlement_options, with_present_modules

VECTORS = "-Xlog:gc\n20-:--add-modules=jdk.incubator.vector\n-XX:+UseG1GC\n"
REQUIRES = b"\x07\x01\x00\x07jdk.net\x01\x00\x07jdk.jdi\x01\x00\x09jdk.jlink\x01\x00\x09java.base"
SMALL = 'MODULES="java.base jdk.httpserver jdk.net jdk.zipfs"\n'


def java(home: Path, release: str) -> Jdk:
    """A Java runtime whose `release` file says this."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "release").write_text(release)
    return Jdk(home, 21, "21.0.8")


def distribution(folder: Path, requires: bytes = REQUIRES) -> Path:
    """An unpacked Elasticsearch whose module of entitlements requires these."""
    (folder / "home" / "lib").mkdir(parents=True)
    with zipfile.ZipFile(folder / "home" / "lib" / "elasticsearch-entitlement-9.5.3.jar", "w") as jar:
        jar.writestr("module-info.class", requires)
        jar.writestr("Policy.class", b"jdk.jdi")
    return folder / "home"


@pytest.mark.parametrize(
    ("release", "kept"),
    [
        ('MODULES="java.base jdk.incubator.vector java.sql"\n', True),
        ('MODULES="java.base java.sql"\n', False),
        ('JAVA_VERSION="21.0.8"\n', True),
    ],
    ids=["has it", "lacks it", "does not say"],
)
def test_a_module_that_a_java_lacks_is_not_added(tmp_path: Path, release: str, kept: bool) -> None:  # noqa: FBT001
    """The JVM refuses to start otherwise; all other options stay."""
    expected = VECTORS if kept else "-Xlog:gc\n-XX:+UseG1GC\n"
    assert with_present_modules(VECTORS, java(tmp_path, release)) == expected


def test_a_java_without_a_release_file_has_every_module(tmp_path: Path) -> None:
    """Nothing is known against it."""
    jdk = Jdk(tmp_path / "java", 21, "21.0.8")
    assert with_present_modules(VECTORS, jdk) == VECTORS
    assert entitlement_options(distribution(tmp_path), jdk, tmp_path / "copies") == ""


def test_entitlements_do_not_require_modules_that_a_java_lacks(tmp_path: Path) -> None:
    """A copy requires others, its classes are the same, and the distribution stays as it is."""
    home, copies = distribution(tmp_path), tmp_path / "copies"
    before = next(home.glob("lib/*.jar")).read_bytes()
    options = f"--upgrade-module-path={copies}\n--module-path={home}/lib\n"

    assert entitlement_options(home, java(tmp_path / "java", SMALL), copies) == options

    with zipfile.ZipFile(copies / "elasticsearch-entitlement-9.5.3.jar") as jar:
        assert jar.read("module-info.class") == (
            b"\x07\x01\x00\x07jdk.net\x01\x00\x09jdk.zipfs\x01\x00\x0ejdk.httpserver\x01\x00\x09java.base"
        )
        assert jar.read("Policy.class") == b"jdk.jdi"
    assert next(home.glob("lib/*.jar")).read_bytes() == before


def test_a_copy_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    """A node may be running on it."""
    home, copies, small = distribution(tmp_path), tmp_path / "copies", java(tmp_path / "java", SMALL)
    options = entitlement_options(home, small, copies)
    (copy,) = copies.iterdir()
    written = copy.stat()
    assert entitlement_options(home, small, copies) == options
    assert (copy.stat().st_ino, copy.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


@pytest.mark.parametrize(
    ("release", "requires"),
    [('MODULES="java.base jdk.jdi jdk.jlink"\n', REQUIRES), (SMALL, b"\x01\x00\x07jdk.net\x01\x00\x09java.base")],
    ids=["a whole Java", "nothing is lacking"],
)
def test_a_node_that_finds_its_modules_gets_no_copy(tmp_path: Path, release: str, requires: bytes) -> None:
    """It starts as Elastic ships it."""
    home = distribution(tmp_path, requires)
    assert entitlement_options(home, java(tmp_path / "java", release), tmp_path / "copies") == ""
    assert not (tmp_path / "copies").exists()
