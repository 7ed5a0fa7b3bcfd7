"""The command that adds a version of an engine: which index settings it reads, and what it writes of them."""

import json

from lab.engines import ENGINES
from lab.engines.engine import IndexSettings
from tools.add_version import catalogue_text, extended, names_in

SETTINGS = IndexSettings(("2.0.0", "4.0.0"), {"codec": ("2.0.0", "4.0.0"), "old": ("2.0.0", "2.0.0")})


def test_settings_that_no_request_may_set_are_left_out() -> None:
    """A group of settings ends in a dot."""
    printed = (
        "WARNING: of the JVM\n"
        "index.codec\t[Final, IndexScope]\n"
        "index.version.created\t[IndexScope, PrivateIndex]\n"
        "index.downsample.status\t[IndexScope, InternalIndex]\n"
        "index.mapper.dynamic\t[Dynamic, IndexSettingDeprecatedInV7AndRemovedInV8]\n"
        "index.similarity.\t[Final, IndexScope]\n"
        "index.ingestion_source.param.*\t[Final, IndexScope]\n"
    )
    assert set(names_in(printed)) == {"codec", "similarity.", "ingestion_source.param."}


def test_a_version_brings_settings_keeps_some_and_drops_others() -> None:
    """The newest one is the last of all that it has."""
    newest = extended(SETTINGS, "10.0.0", {"codec", "young"})
    assert newest.read_from == ("2.0.0", "4.0.0", "10.0.0")
    assert newest.known == {"codec": ("2.0.0", "10.0.0"), "old": ("2.0.0", "2.0.0"), "young": ("10.0.0", "10.0.0")}
    assert extended(newest, "10.0.0", {"codec", "young"}) == newest


def test_a_version_between_others_may_narrow_when_a_setting_came() -> None:
    """It is read as any other."""
    between = extended(SETTINGS, "3.0.0", {"codec", "old"})
    assert between.known == {"codec": ("2.0.0", "4.0.0"), "old": ("2.0.0", "3.0.0")}


def test_the_file_has_no_line_that_another_version_would_change() -> None:
    """But for settings that it brings or drops."""
    assert json.loads(catalogue_text(SETTINGS))["settings"] == {"codec": ["2.0.0"], "old": ["2.0.0", "2.0.0"]}
    for engine in ENGINES:
        assert catalogue_text(engine.index_settings) == engine.settings_file.read_text("utf-8")
