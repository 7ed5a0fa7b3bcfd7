"""What a run records of the contents behind the names in its profile."""

import json
from pathlib import Path

from lab.profiles import load_profile
from lab.profiles.mapping import load_mapping
from lab.run.contents import contents_of
from lab.stack.places import ROOT

PROGRAM = "#!/bin/sh\n"


def test_two_contents_of_one_name_have_two_hashes() -> None:
    """The order of keys is none."""
    profile = load_profile("quickstart")
    mappings = load_mapping(profile.mapping)["mappings"]
    turned = json.loads(json.dumps(mappings), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    one, other, same = (contents_of(profile, each, ROOT) for each in (mappings, {}, turned))

    assert one.keys() == {"mapping", "sink.connector"}
    assert one["mapping"] != other["mapping"]
    assert one == same


def test_notes_of_a_mapping_are_no_other_content() -> None:
    """Elasticsearch keeps `_meta`, and does nothing with it."""
    profile = load_profile("quickstart")
    assert contents_of(profile, {"_meta": {"by": "hand"}}, ROOT) == contents_of(profile, {}, ROOT)


def test_a_connector_template_is_told_by_its_content(tmp_path: Path) -> None:
    """A checkout in which it says something else."""
    template = tmp_path / "connect" / "connectors" / "elasticsearch.json"
    template.parent.mkdir(parents=True)
    hashes = []
    for size in ("7", "11"):
        template.write_text(json.dumps({"batch.size": size}), encoding="utf-8")
        hashes.append(contents_of(load_profile("quickstart"), {}, tmp_path)["sink.connector"])

    assert len(set(hashes)) == 2


def test_a_command_is_told_by_the_files_that_it_names(tmp_path: Path) -> None:
    """Its program and scripts; words that name none do not count here, since the profile has them."""
    command = f"sink.command=['${{root}}/run.sh', '${{root}}/none.sh', '{tmp_path}/script.py']"
    profile = load_profile("quickstart", overrides=[command])
    hashes = []
    for text in (PROGRAM, PROGRAM + "exit 1\n"):
        (tmp_path / "run.sh").write_text(PROGRAM, encoding="utf-8")
        (tmp_path / "script.py").write_text(text, encoding="utf-8")
        hashes.append(contents_of(profile, {}, tmp_path))

    assert [each.keys() for each in hashes] == [{"mapping", "sink.command"}] * 2
    assert hashes[0] != hashes[1]


def test_a_file_may_follow_the_name_of_an_option(tmp_path: Path) -> None:
    """As `--config=FILE`."""
    profile = load_profile("quickstart", overrides=["sink.command=['true', '--config=${root}/c.yaml']"])
    hashes = []
    for text in ("size: 7", "size: 11"):
        (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
        hashes.append(contents_of(profile, {}, tmp_path)["sink.command"])

    assert len(set(hashes)) == 2


def test_a_load_without_a_sink_has_no_template() -> None:
    """Nothing reads it."""
    direct = load_profile("quickstart", overrides=["load.via=direct"])
    assert contents_of(direct, {}, ROOT).keys() == {"mapping"}
