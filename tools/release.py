"""Makes a release of the last commit: `python -m tools.release FOLDER`.

The folder gets the wheel, which holds the built plugin, the source, the plugin's archive, and their checksums. All are
made from a clone: nothing gets in that is not committed. Maven builds the plugin, as for its own tests, once for wheel
and archive. The same commit and JDK make the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import ROOT
from lab.stack.plugin import source_fingerprint, stamp_file
from tools.maven import maven

CHECKSUMS = "SHA256SUMS"
ARCHIVES = Path("target") / "components" / "packages"


def release(clone: Path) -> Path:
    """Make a release of a clean clone; the folder that holds it."""
    last_commit = ("git", "-C", str(clone), "log", "-1", "--format=%ct")
    epoch = subprocess.run(last_commit, check=True, capture_output=True, text=True).stdout.strip()
    project, made = clone / "connect", clone / "dist"
    maven(project, "package", "-Dmaven.test.skip=true")
    stamp_file(project).write_text(source_fingerprint(project), "utf-8")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(made)],
        cwd=clone,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
    )
    for archive in (project / ARCHIVES).iterdir():
        shutil.copy(archive, made)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made.iterdir())]
    (made / CHECKSUMS).write_text("".join(sums))
    return made


def main() -> None:
    """Make it from a clone, and move it to the folder."""
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("usage: python -m tools.release FOLDER; the folder must not exist")
    os.umask(0o022)  # modes of files are packed
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "sluice"
        subprocess.run(("git", "clone", "--quiet", str(ROOT), str(clone)), check=True)
        shutil.move(release(clone), sys.argv[1])
    for path in sorted(Path(sys.argv[1]).iterdir()):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
