"""The played server in the place of a local stack's Elasticsearch, so that its CPU and disk are measured as always.

Makes a cache folder that has everything of another one, but for Elasticsearch, whose program is the played server:

    python -m tests.worlds.stand_in FOLDER -- --docs-per-s 8000 --cpu-us 60
    SLUICE_CACHE=FOLDER SLUICE_STATE=STATE ./sluice up

Its address, which `up` prints, says at `/_truth` what it did.
"""

import argparse
import shlex
import shutil
import site
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.places import cache_dir

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path("/usr/bin/python3")
"""That of a virtual environment may lie in a home folder, into which the servers' user cannot look."""

PROGRAM = """#!/bin/sh
# Takes the arguments of Elasticsearch's own program: -d -p PIDFILE.
setting() {{ sed -n "s/^$1: *//p" "$ES_PATH_CONF/elasticsearch.yml"; }}
cd {root} || exit 1
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={path} {python} -m tests.worlds.played --burn --port "$(setting http.port)" \\
    --node-name "$(setting node.name)" --uptime-s 0 {arguments} &
echo $! >"$3"
"""


def make(folder: Path, version: str, arguments: Sequence[str]) -> Path:
    """Make the cache folder; the played server has these arguments from its next start on."""
    real = cache_dir()
    (folder / "unpacked").mkdir(parents=True, exist_ok=True)
    archive = read_lock().sets[f"elasticsearch-{version}"][0]
    distribution = ArtifactCache(real).unpacked(archive)
    for there in (*real.iterdir(), *(real / "unpacked").iterdir()):
        link = folder / there.relative_to(real)
        if there not in {real / "unpacked", distribution} and not link.exists():
            link.symlink_to(there)
    home = folder / "unpacked" / distribution.name
    shutil.copytree(distribution / "config", home / "config", dirs_exist_ok=True)
    (home / "bin").mkdir(exist_ok=True)
    program = home / "bin" / "elasticsearch"
    packages = ":".join([str(ROOT), *site.getsitepackages()])
    program.write_text(
        PROGRAM.format(root=ROOT, path=packages, python=shlex.quote(str(PYTHON)), arguments=shlex.join(arguments))
    )
    program.chmod(0o755)
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", default="8.19.21")
    parser.add_argument("arguments", nargs="*", help="of the played server, after --")
    given = parser.parse_args()
    sys.exit(0 if make(given.folder.resolve(), given.version, given.arguments) else 1)
