"""Quix Streams from Kafka to Elasticsearch: its own sink, with its defaults and with what its documentation offers."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from lab.extensions import ProgramPipeline

ENVIRONMENT = "SLUICE_QUIX"
"""Environment variable: the folder of the Python environment that `fetch.sh` has made."""
SETTINGS = {"batch_size": 500, "commit_interval": 5.0, "commit_every": 0, "request_timeout": 10}


class Default(ProgramPipeline):
    """`ElasticsearchSink` as its page has it; a record's key is its document's id."""

    settings: ClassVar[Mapping[str, int | float]] = {}
    is_patient: ClassVar[bool] = False

    @classmethod
    def lacks(cls, settings: Mapping[str, str | int | float | bool]) -> str | None:
        """The environment, or a setting that is none."""
        if unknown := settings.keys() - SETTINGS.keys():
            return f"sink.config: got {min(unknown)}, expected only {', '.join(SETTINGS)}"
        if not (python().is_file()):
            return f"no Python environment with Quix Streams in {ENVIRONMENT}; make one with fetch.sh FOLDER"
        return None

    def command(self) -> Sequence[str]:
        """The program beside this module, in the environment of Quix Streams."""
        of = self.context
        settings = {**SETTINGS, **self.settings, **of.settings, "patient": self.is_patient}
        ends = (of.kafka_bootstrap, of.topic, of.group, of.elasticsearch_urls[0], of.index, str(of.folder / "state"))
        return [str(python()), "-P", str(Path(__file__).with_name("program.py")), *ends, json.dumps(settings)]


class Tuned(Default):
    """Larger bulk requests and checkpoints by count; 429 is tried again by the client, and all else by a restart."""

    settings: ClassVar[Mapping[str, int | float]] = {"batch_size": 2000, "commit_every": 10000, "request_timeout": 60}
    is_patient: ClassVar[bool] = True


def python() -> Path:
    """The environment's Python."""
    return Path(os.environ.get(ENVIRONMENT, "/nowhere")) / "bin" / "python"
