"""Entry point: `python -m lab.cli`, which the launcher `sluice` calls."""

import sys

from lab.cli.app import main

sys.exit(main())
