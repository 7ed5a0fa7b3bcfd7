"""What may be set from the page, and that nothing else may, however it is written."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.engines import ENGINES
from lab.errors import ProfileError
from lab.page.choice import Choice, profile_details
from lab.page.settings import MAY_BE_SET, check_settings
from lab.profiles.datasets import known_dataset
from lab.profiles.index_settings import known_settings
from lab.profiles.layers import VERBATIM_SECTIONS
from lab.profiles.loader import split_key
from lab.profiles.models import Direct, Profile, QueryLoad, QueryOnly, Rally, Ramp, Section, Stream
from lab.profiles.yaml_model import fields_at
from lab.stack.places import ROOT
from producers.registry import DATASETS
from tests.unit.messages import MakeMessage

LOADS: dict[tuple[str, ...], tuple[type[Section], ...]] = {
    (): (Stream, Direct, Rally, QueryOnly),
    ("queries",): (QueryLoad,),
    ("ramp",): (Ramp,),
}
OF_THE_SINK = ROOT / "connect" / "src" / "main" / "java" / "io" / "sluice" / "connect" / "config"


def refused(*settings: str) -> str:
    """Why settings are refused."""
    with pytest.raises(ProfileError) as refusal:
        check_settings(settings)
    return str(refusal.value)


def is_known(key: str) -> bool:
    """Whether a profile has such a setting; of those of other systems, whether ours or a server knows it."""
    path = split_key(key)
    if path[0] == "index":
        return any(known_settings(engine).releases_of(path[1]) for engine in ENGINES)
    if path[:2] == ("sink", "config") and not path[2].startswith("consumer.override."):
        return any(f'"{path[2]}"' in source.read_text("utf-8") for source in OF_THE_SINK.glob("*.java"))
    if path[:-1] in VERBATIM_SECTIONS:
        return True
    if path[0] == "dataset":
        return any({path[1]} <= dataset.keys() for dataset in map(known_dataset, DATASETS) if dataset)
    if path[0] == "load":
        return any(path[-1] in section.model_fields for section in LOADS[path[1:-1]])
    return path[-1] in fields_at(Profile, path[:-1])


@pytest.mark.parametrize("key", MAY_BE_SET)
def test_what_may_be_set_is_a_setting(key: str) -> None:
    """An entry that means nothing would hide that the setting of today is refused."""
    assert is_known(key)


@pytest.mark.parametrize("key", MAY_BE_SET)
def test_what_may_be_set_is_taken(key: str) -> None:
    """Dotted, as the page writes it."""
    check_settings([f"{key}=7"])


@pytest.mark.parametrize(
    "setting",
    [
        # a program, a library, a class
        "sink.command=[sh, -c, id]",
        "sink={command: [id]}",
        " sink.plugin_path =/tmp",
        "sink.command.0=id",
        "producer.client.plugin.library.paths=/tmp/x.so",
        "producer.client.ssl.engine.location=/tmp/x.so",
        "producer.client.sasl.kerberos.kinit.cmd=id",
        "producer.client={plugin.library.paths: /tmp/x.so}",
        "producer={client: {plugin: {library: {paths: /tmp/x.so}}}}",
        "sink.connector=confluent",
        "sink.config.connector.class=x.Y",
        "sink.config.value.converter=x.Y",
        "sink.config.transforms=a",
        "sink.config={consumer.override.interceptor.classes: x.Y}",
        "load.via=rally",
        # where data goes
        "sink.config.connection.url=http://evil.example",
        "sink.config.proxy.host=evil.example",
        "sink.config.topics=secrets",
        "sink.config.index.name=other",
        "sink.config.pipeline=other",
        "sink.config.errors.deadletterqueue.topic.name=other",
        "sink.config.consumer.override.bootstrap.servers=evil.example:9092",
        "sink.config.producer.override.bootstrap.servers=evil.example:9092",
        "elasticsearch.cluster_settings.cluster.remote.evil.seeds=evil.example:9300",
        "elasticsearch.cluster_settings={xpack: {monitoring: {exporters: {e: {host: evil.example}}}}}",
        "elasticsearch.node_settings.discovery.seed_providers=file",
        "index.default_pipeline=other",
        "index.final_pipeline=other",
        "index.lifecycle.name=delete-all",
        "maintain.to=[elasticsearch-2]",
        # a file
        "dataset.path=/etc/shadow",
        "dataset={name: file, path: /etc/shadow}",
        "elasticsearch.node_settings.path.repo=/",
        "elasticsearch={node_settings: {path: {repo: /}}}",
        "index.data_path=/etc",
        "index={index.data_path: /etc}",
        "index.analysis.filter.a.stopwords_path=/etc/passwd",
        "queries.questions=[../../x]",
        "extends=../../x",
        # a script
        "index.similarity.default.script.source=1",
        # who authenticates
        "sink.config.connection.username=elastic",
        "sink.config.connection.headers=Authorization:x",
        "sink.config.consumer.override.sasl.jaas.config=x",
        "producer.client.sasl.username=x",
        # whole sections, and what is taken back
        "sink=null",
        "index=null",
        "elasticsearch.node_settings=7",
        "question=x",
        "name=x",
    ],
)
def test_all_else_is_refused_before_anything_looks_at_it(setting: str) -> None:
    """However it is written; the sentence names the key, and what would be right."""
    sentence = refused(setting)
    assert "cannot be set" in sentence
    assert sentence.partition(":")[0].removeprefix("--set ").partition(".")[0] in setting


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "../mappings/dynamic"])
def test_a_mapping_is_one_of_the_list(name: str) -> None:
    """A path is none, also where it leads to one."""
    choice = Choice.of({"kind": "run", "name": "quickstart", "settings": [f"mapping={name}"]})
    with pytest.raises(ProfileError, match="unknown mapping"):
        choice.check()


def test_everything_that_is_wrong_is_said_at_once(message: MakeMessage) -> None:
    """A line each."""
    lines = refused("sink.tasks=2", "dataset.path=/etc/shadow", "sink.taks=2").splitlines()
    assert sorted(lines) == [message("dataset.path", "--set"), message("sink.taks", "sink.tasks")]


@pytest.mark.parametrize(
    "value",
    ["${file:/secrets/connect.properties:password}", "${env:SECRET}", "$HOME", '"a\\nb: c"', '"\\u0000"', "x" * 201],
)
def test_a_value_is_plain(value: str, message: MakeMessage) -> None:
    """Connect and Elasticsearch put secrets in place of `${…}`, and repeat a value that they refuse."""
    assert refused(f"sink.config.linger.ms={value}") == message("sink.config.linger.ms")


@pytest.mark.parametrize("value", ["[[a]]", "[{a: 1}]", f"[{', '.join(['a'] * 101)}]"])
def test_a_list_is_short_and_flat(value: str) -> None:
    """A few names at most."""
    assert "expected one value" in refused(f"index.sort.field={value}")


def test_a_library_is_not_even_loaded_to_be_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Kafka's client, which judges its own settings, would run it."""
    mark = tmp_path / "ran"
    source, library = tmp_path / "x.c", tmp_path / "x.so"
    source.write_text(
        "#include <stdio.h>\n"
        f'__attribute__((constructor)) void ran(void) {{ fclose(fopen({json.dumps(str(mark))}, "w")); }}\n'
        "int conf_init(void *a, void **b, char *c, int d) { return 0; }\n"
    )
    built = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], capture_output=True, check=False)
    if built.returncode:
        pytest.skip("no C compiler here")
    setting = f"producer.client.plugin.library.paths={library}"
    program = (
        "from lab.page.choice import Choice\n"
        "try:\n"
        f"    Choice.of({{'kind': 'run', 'name': 'quickstart', 'settings': [{setting!r}]}}).check()\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert said == message()
    assert not mark.exists()
    ctypes.CDLL(str(library))
    assert mark.exists()


def test_the_page_offers_what_it_takes() -> None:
    """And nothing else of a profile."""
    offered = {setting["key"] for setting in profile_details("quickstart")["settings"]}
    assert "sink.tasks" in offered
    assert offered <= MAY_BE_SET.keys()


def test_a_setting_of_a_suite_is_judged_as_well(message: MakeMessage) -> None:
    """It is one of all its variants."""
    with pytest.raises(ProfileError) as error:
        Choice.of({"kind": "suite", "name": "a-a", "settings": ["dataset.path=/etc/shadow"]})
    assert str(error.value) == message("dataset.path")


def test_the_page_loads_no_dataset_of_an_installed_package(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Which program runs is not the page's to choose."""
    ours = {name: description for name, description in DATASETS.built_in.items() if name != "events"}
    monkeypatch.setattr(DATASETS, "built_in", ours)
    monkeypatch.setattr(type(DATASETS), "__iter__", lambda _: iter([*ours, "readings"]))
    assert refused("dataset.name=readings") == message("dataset.name")
    check_settings(["dataset.name=aladin"])
