"""rsyslog from Kafka to Elasticsearch: a tuned and a default configuration, each a file of this package."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.extensions import Ids, ProgramPipeline

UNPACKED = "SLUICE_RSYSLOG"
"""Environment variable: the folder that `fetch.sh` has unpacked rsyslog's packages into; without it, the system's."""
FETCH = "install rsyslog, rsyslog-kafka and rsyslog-elasticsearch, or unpack them with examples/rsyslog/fetch.sh"
MODULES = ("imkafka.so", "mmjsonparse.so", "omelasticsearch.so")
DEFAULTS = {"queue.type": "LinkedList", "queue.dequeuebatchsize": "1000", "indextimeout.ms": "60000"}


class Tuned(ProgramPipeline):
    """rsyslog with what its documentation advises for reliable delivery; ids are UUIDs that retries keep."""

    configuration = "tuned.conf"

    @classmethod
    def lacks(cls, settings: Mapping[str, str | int | float | bool]) -> str | None:
        """The program, its modules, or a setting that is none."""
        if unknown := settings.keys() - DEFAULTS.keys():
            return f"sink.config: got {min(unknown)}, expected only {', '.join(DEFAULTS)}"
        return None if program() and modules() else f"no rsyslogd with {', '.join(MODULES)} here; {FETCH}"

    def ids(self) -> Ids:
        """Generated: each record is a document of its own."""
        return "generated"

    def command(self) -> Sequence[str]:
        """Start rsyslogd in the foreground, with its configuration and files in the run's folder."""
        folder, context = self.context.folder.absolute(), self.context
        brokers = ",".join(f'"{broker}"' for broker in context.kafka_bootstrap.split(","))
        servers = ",".join(f'"{url}"' for url in context.elasticsearch_urls)
        settings = {**DEFAULTS, **{name: str(value) for name, value in context.settings.items()}}
        values = {
            "folder": str(folder),
            "brokers": f"[{brokers}]",
            "servers": f"[{servers}]",
            "topic": context.topic,
            "group": context.group,
            "index": context.index,
            **settings,
        }
        text = (Path(__file__).parent / self.configuration).read_text("utf-8")
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        (folder / "spool").mkdir(exist_ok=True)
        file = folder / "rsyslog.conf"
        file.write_text(text, "utf-8")
        paths = ["-M", str(modules()), "-i", str(folder / "rsyslog.pid"), "-f", str(file)]
        libraries = f"LD_LIBRARY_PATH={modules().parent}" if UNPACKED in os.environ else "LANG=C"
        return ("env", libraries, str(program()), "-n", *paths)


class Default(Tuned):
    """rsyslog as the shortest configuration has it; bulk requests alone are switched on."""

    configuration = "default.conf"


def program() -> Path | None:
    """The program rsyslogd; `None` where it is not there."""
    unpacked = os.environ.get(UNPACKED)
    path = f"{unpacked}/usr/sbin" if unpacked else f"{os.environ.get('PATH', '')}:/usr/sbin"
    found = shutil.which("rsyslogd", path=path)
    return Path(found) if found else None


def modules() -> Path | None:
    """The folder of rsyslog's modules; `None` where it lacks one of those that are needed."""
    below = Path(os.environ.get(UNPACKED) or "/")
    folders = [below / "usr/lib/rsyslog", *below.glob("usr/lib/*/rsyslog"), below / "usr/lib64/rsyslog"]
    return next((each for each in folders if all((each / name).is_file() for name in MODULES)), None)
