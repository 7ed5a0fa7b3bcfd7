"""Files of a tune's recommendation: a profile, and settings of index and connector to paste."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from lab.analysis.folder import json_text, read_profile, read_record
from lab.analysis.tune.folder import StageRecords, read_stages
from lab.endpoints import HIDDEN
from lab.files import write_whole
from lab.profiles import Profile
from lab.profiles.loader import split_key
from lab.profiles.mapping import index_body, mapping_for
from lab.records.run import Run
from lab.records.tune import TuneResult, combination_name

BEST, INDEX, CONNECTOR = "best.yaml", "index.json", "connector.json"
DEV_TOOLS, CURL = "dev-tools.txt", "curl.txt"

YOURS: Mapping[str, str] = {
    "topics": "YOUR-TOPIC",
    "connection.url": "YOUR-ELASTICSEARCH-URL",
    "index.name": "YOUR-INDEX",
    "topic.to.external.resource.mapping": "YOUR-TOPIC:YOUR-INDEX",
    "errors.deadletterqueue.topic.name": "YOUR-DEAD-LETTER-TOPIC",
    "errors.deadletterqueue.topic.replication.factor": "YOUR-REPLICATION-FACTOR",
}
"""Connector settings whose value is the run's own, and what stands for the user's."""
OF_THE_RUN = frozenset({"name"})
OURS = "io.sluice."
"""How the classes of our own connector begin."""
OF_A_SECRET = "YOUR-SECRET"  # noqa: S105 - a placeholder
ANALYZER_TYPE = (".analysis.analyzer.", ".type")


def recommended_files(folder: Path) -> dict[str, Path]:
    """Files written when the tune ended, by name. They stay, since mapping and files may have changed."""
    return {name: folder / name for name in (BEST, INDEX, CONNECTOR, DEV_TOOLS, CURL) if (folder / name).is_file()}


def write_recommended(folder: Path, result: TuneResult) -> dict[str, Path]:
    """Write `best.yaml` and, where a run of what is recommended has left records, what to paste; the files by name."""
    texts = {BEST: best_yaml(result), **pasted(folder, result)}
    paths = {name: folder / name for name in texts}
    for name, text in texts.items():
        write_whole(paths[name], text)
    return paths


# --- the profile ----------------------------------------------------------------------------------------------------


def best_yaml(result: TuneResult) -> str:
    """The profile that is recommended: it extends the start, and says what is changed and by what evidence."""
    plan = result.plan
    tree: dict[str, Any] = {"question": f"How fast is {plan.profile} with the settings that a search has found?"}
    tree["extends"] = whole_path(plan.profile) if plan.profile.endswith((".yaml", ".yml")) else plan.profile
    stated = dict(text.partition("=")[::2] for text in plan.overrides)
    known = {key.strip(): yaml.safe_load(text) for key, text in stated.items() if text != HIDDEN}
    values = known | result.settings
    if isinstance(path := values.get("dataset.path"), str):
        values["dataset.path"] = whole_path(path)
    for key, value in values.items():
        section: dict[str, Any] = tree
        *names, last = split_key(key)
        for name in names:
            section = section.setdefault(name, {})
        section[last] = value
    hidden = [key.strip() for key, text in stated.items() if text == HIDDEN]
    remarks = [
        result.headline,
        *(f"Risk: {risk}" for risk in result.risks),
        *result.notes,
        *(f"{key}: not written here; give it again with --set" for key in hidden),
    ]
    head = "".join(f"# {line}\n" for remark in remarks for line in remark.splitlines())
    return head + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120)


def whole_path(path: str) -> str:
    """A path that means the same in every folder."""
    return str(Path(path).resolve())


# --- for the servers ------------------------------------------------------------------------------------------------


def pasted(folder: Path, result: TuneResult) -> dict[str, str]:
    """Index and connector as the last run of what is recommended had them, with placeholders for what is the user's."""
    run_folder = last_run(folder, combination_name(result.recommended))
    stated = read_profile(run_folder / "profile.json") if run_folder else None
    if run_folder is None or stated is None:
        return {}
    try:
        profile = Profile.model_validate(stated)
    except ValidationError:
        return {}  # of an older version
    run = read_record(run_folder / "run.json")
    index = index_of(profile, run)
    texts = {INDEX: json_text(index)}
    remarks = list(without_replicas(index))
    dev_tools = [*remarks, f"PUT YOUR-INDEX\n{texts[INDEX]}"]
    curl = [
        "# ES and CONNECT are the addresses of your servers; an index takes these settings when it is made",
        *remarks,
        f'curl -X PUT "$ES/YOUR-INDEX" -H "Content-Type: application/json" --data-binary @{INDEX}',
    ]
    if run.environment.connector.keys() and not run.environment.connector.keys() & {"command", "pipeline"}:
        texts[CONNECTOR] = json_text(connector_of(run))
        if str(run.environment.connector.get("connector.class")).startswith(OURS):
            curl.append("# the Connect worker needs the plugin of Sluice: connect/README.md says how to install it")
        to = '"$CONNECT/connectors/YOUR-CONNECTOR/config"'
        curl.append(f'curl -X PUT {to} -H "Content-Type: application/json" --data-binary @{CONNECTOR}')
    return texts | {DEV_TOOLS: "\n".join(dev_tools), CURL: "\n".join(curl) + "\n"}


def without_replicas(index: Mapping[str, Any]) -> Iterator[str]:
    """A remark on an index that has none."""
    settings = index["settings"]["index"]
    if str(settings.get("number_of_replicas", settings.get("index.number_of_replicas"))) == "0":
        yield "# number_of_replicas is 0, as it was measured: the loss of one node loses its shards; set 1 or more"


def last_run(folder: Path, variant: str) -> Path | None:
    """The folder of the last verified run of a variant whose records are there."""
    stages: list[StageRecords] = list(read_stages(folder))
    for stage in reversed(stages):
        for counted in reversed(stage.suite.of_variant(variant)):
            path = stage.path / (counted.run.folder or "")
            if (path / "run.json").is_file():
                return path
    return None


def index_of(profile: Profile, run: Run) -> dict[str, Any]:
    """The body of the request that made the run's index, as far as profile and mapping decide it."""
    in_effect = run.environment.index_settings.items()
    first, last = ANALYZER_TYPE
    chosen = {str(value) for key, value in in_effect if first in f".{key}" and str(key).endswith(last)}
    return index_body(mapping_for(profile), profile.index, chosen.__contains__)


def connector_of(run: Run) -> dict[str, str]:
    """The connector's configuration, with placeholders for addresses, names and secrets."""
    config = {key: str(value) for key, value in run.environment.connector.items() if key not in OF_THE_RUN}
    return {key: YOURS.get(key, OF_A_SECRET if value == HIDDEN else value) for key, value in config.items()}
