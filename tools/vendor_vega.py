"""Puts Vega's files for browsers beside the live page: `python -m tools.vendor_vega`, to move to other versions.

npm's own client fetches the packages, by whatever registry this machine uses. Each file lies in the repository as its
package has it, so that the page works offline and from a wheel; the lock file says what it must be.
"""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from lab import ROOT

STATIC = ROOT / "lab" / "page" / "static"
LOCK_FILE = STATIC / "vega.lock.json"
VERSIONS = {"vega": "6.4.0", "vega-lite": "6.5.0", "vega-embed": "7.3.0"}
"""Vega-Lite has the major version of the specifications that Altair writes."""
FETCH_TIMEOUT_S = 120


def packed(name: str, version: str, folder: Path) -> bytes:
    """The archive of a package, as npm publishes it."""
    command = (shutil.which("npm") or "npm", "pack", "--silent", f"{name}@{version}")
    subprocess.run(command, cwd=folder, check=True, timeout=FETCH_TIMEOUT_S)
    return (folder / f"{name}-{version}.tgz").read_bytes()


def member(archive: bytes, path: str) -> bytes:
    """One file of a package."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        content = opened.extractfile(f"package/{path}")
        if content is None:
            sys.exit(f"{path}: got no file, expected one in the package")
        return content.read()


def main() -> None:
    """Write the three files, their licences, and the lock."""
    lock = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, version in VERSIONS.items():
            archive = packed(name, version, Path(folder))
            script = member(archive, f"build/{name}.min.js")
            (STATIC / f"{name}.min.js").write_bytes(script)
            (STATIC / f"{name}.LICENSE").write_bytes(member(archive, "LICENSE"))
            lock[f"{name}.min.js"] = {
                "package": f"{name}@{version}",
                "package_sha256": hashlib.sha256(archive).hexdigest(),
                "sha256": hashlib.sha256(script).hexdigest(),
                "size_bytes": len(script),
            }
    LOCK_FILE.write_text(json.dumps(lock, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
