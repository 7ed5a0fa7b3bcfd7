"""JDKs: what a machine has, and which server runs on which."""

from pathlib import Path

import pytest

from lab.engines import JavaRange
from lab.errors import ProfileError, StackError
from lab.stack import jdk as jdk_module
from lab.stack.jdk import (
    Jdk,
    choose_jdk,
    extra_jvm_options,
    find_jdks,
    install_command,
    java_for_kafka,
    read_jdk,
    refuse_wrong_java_home,
)


def make_jdk(home: Path, release: str | None, *, compiler: bool = True) -> Path:
    """A folder as a JDK is laid out."""
    (home / "bin").mkdir(parents=True)
    if release is not None:
        (home / "release").write_text(release)
    (home / "bin" / "java").write_text("")
    if compiler:
        (home / "bin" / "javac").write_text("")
    return home


def jdk(version: str, home: str = "") -> Jdk:
    """A JDK that was found."""
    return Jdk(Path(home or f"/jdk-{version}"), int(version.split(".", maxsplit=1)[0]), version)


@pytest.fixture(autouse=True)
def _no_java_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.parametrize(
    ("version", "feature"),
    [("17.0.15", 17), ("1.8.0_452", 8), ("25.0.3", 25), ("21", 21), ("11.0.27", 11), ("26-ea", 26)],
)
def test_a_jdk_is_what_its_release_file_says(tmp_path: Path, version: str, feature: int) -> None:
    """The feature release is the first number, or the second one of Java 8."""
    home = make_jdk(tmp_path / "jdk", f'IMPLEMENTOR="Example"\nJAVA_VERSION="{version}"\nOS_ARCH="x86_64"\n')
    assert Jdk(home, feature, version) == read_jdk(home)


def test_a_runtime_without_a_compiler_is_no_jdk(tmp_path: Path) -> None:
    """The sink plugin has to be compiled."""
    assert read_jdk(make_jdk(tmp_path / "jre", 'JAVA_VERSION="17.0.15"\n', compiler=False)) is None


@pytest.mark.parametrize("release", [None, "", 'OS_ARCH="x86_64"\n', 'JAVA_VERSION="unknown"\n'])
def test_a_folder_that_does_not_say_its_version_is_no_jdk(tmp_path: Path, release: str | None) -> None:
    """It is passed over, and nothing fails."""
    assert read_jdk(make_jdk(tmp_path / "jdk", release)) is None


def test_a_jdk_is_found_once_under_all_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions link several names to one JDK."""
    home = make_jdk(tmp_path / "jvm" / "java-17-openjdk", 'JAVA_VERSION="17.0.15"\n')
    (tmp_path / "jvm" / "default-java").symlink_to(home)
    monkeypatch.setattr(jdk_module, "SEARCHED", (str(tmp_path / "jvm"),))
    monkeypatch.setattr(jdk_module.shutil, "which", lambda _: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jvm" / "default-java"))
    assert (Jdk(home, 17, "17.0.15"),) == find_jdks()


def test_the_jdk_on_the_path_is_found_through_its_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It need not lie in one of the usual folders."""
    home = make_jdk(tmp_path / "anywhere", 'JAVA_VERSION="21.0.7"\n')
    monkeypatch.setattr(jdk_module, "SEARCHED", ())
    monkeypatch.setattr(jdk_module.shutil, "which", lambda _: str(home / "bin" / "javac"))
    assert (Jdk(home, 21, "21.0.7"),) == find_jdks()


def test_java_home_wins_if_it_is_in_the_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner has chosen, even if there is a newer one."""
    chosen = jdk("17.0.15", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert choose_jdk([jdk("21.0.7"), chosen, jdk("25.0.3")], JavaRange(17, 25), "Kafka") == chosen


def test_java_home_is_passed_over_if_it_is_out_of_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot run the server is no choice."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = [jdk("25.0.3", str(tmp_path)), jdk("17.0.15")]
    assert choose_jdk(found, JavaRange(11, 17), "Elasticsearch 7.17.7") == jdk("17.0.15")


def test_a_java_home_without_a_jdk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner has chosen, and would not get it."""
    for home in (tmp_path / "nothing", make_jdk(tmp_path / "jre", 'JAVA_VERSION="17.0.15"\n', compiler=False)):
        monkeypatch.setenv("JAVA_HOME", str(home))
        with pytest.raises(ProfileError) as refusal:
            refuse_wrong_java_home()
        assert str(refusal.value) == (
            f"JAVA_HOME: got {home}, expected the folder of a JDK (with bin/javac); correct or unset it"
        )
    for home in ("", str(make_jdk(tmp_path / "jdk", 'JAVA_VERSION="17.0.15"\n'))):
        monkeypatch.setenv("JAVA_HOME", home)
        refuse_wrong_java_home()


def test_otherwise_the_newest_in_the_range_is_chosen() -> None:
    """By number: 17.0.9 is older than 17.0.15."""
    found = [jdk("17.0.9"), jdk("17.0.15"), jdk("11.0.27"), jdk("25.0.3")]
    assert choose_jdk(found, JavaRange(11, 23), "Elasticsearch 8.17.4") == jdk("17.0.15")


def test_no_jdk_in_the_range_is_one_sentence_with_the_command_that_installs_one() -> None:
    """It says what is needed, what was found, and where."""
    with pytest.raises(StackError) as refusal:
        choose_jdk([jdk("17.0.15"), jdk("11.0.27")], JavaRange(21, 25), "Elasticsearch 9.0.0")
    assert str(refusal.value) == (
        "Elasticsearch 9.0.0: needs a JDK 21 to 25, found 17.0.15 in /jdk-17.0.15, 11.0.27 in /jdk-11.0.27; install "
        "one with: apt-get install openjdk-21-jdk-headless, or set JAVA_HOME to where one is"
    )


def test_no_jdk_at_all_is_one_sentence() -> None:
    """The machine may have none."""
    with pytest.raises(StackError) as refusal:
        choose_jdk([], JavaRange(17, 26), "Kafka")
    assert str(refusal.value) == (
        "Kafka: needs a JDK 17 to 26, found none; install one with: apt-get install openjdk-17-jdk-headless, or set "
        "JAVA_HOME to where one is"
    )


def test_kafka_runs_on_java_17_and_newer() -> None:
    """Kafka 4 dropped Java 11 for its servers."""
    assert java_for_kafka() == JavaRange(17, 26)


@pytest.mark.parametrize(("oldest", "newest", "package"), [(11, 17, 17), (17, 25, 17), (21, 26, 21), (22, 25, 25)])
def test_the_install_command_names_a_package_in_the_range(oldest: int, newest: int, package: int) -> None:
    """The oldest release with long-term support that will do."""
    assert install_command(JavaRange(oldest, newest)) == f"apt-get install openjdk-{package}-jdk-headless"


def test_jvm_options_are_apart_by_spaces() -> None:
    """Without any there are none."""
    assert extra_jvm_options({"SLUICE_JVM_OPTIONS": " -Xss1m  -XX:+UseZGC "}) == ("-Xss1m", "-XX:+UseZGC")
    assert extra_jvm_options({}) == ()


@pytest.mark.parametrize("word", ["UseSerialGC", "-Dpassword=hunter2"])
def test_what_is_no_option_of_the_jvm_is_bad_input_in_one_sentence(word: str) -> None:
    """It names the variable and the word."""
    with pytest.raises(ProfileError) as refusal:
        extra_jvm_options({"SLUICE_JVM_OPTIONS": f"-Xss1m {word}"})
    assert str(refusal.value) == (
        f"SLUICE_JVM_OPTIONS: got {word}, expected options that begin with -X, such as -XX:+UseZGC"
    )
