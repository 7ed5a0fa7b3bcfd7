"""`sluice/__main__.py` of an installed package: the command `sluice`, and `python -m sluice`.

The package holds the folders of a checkout, side by side. Its modules keep their names, `lab` and `producers`, which
are too general for site-packages itself.
"""

import os
import sys
from io import TextIOWrapper
from pathlib import Path


def main() -> int:
    """Run the command line; its exit status."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    # As the launcher of a checkout has it, whatever the locale: here and in processes that are started.
    os.environ["PYTHONUTF8"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")

    from lab.cli.app import main as command_line  # noqa: PLC0415 - only now can it be found

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
