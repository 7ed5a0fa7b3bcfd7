"""One run on servers that are there, from its folder to its report."""

import sys
from collections.abc import Sequence
from pathlib import Path

from lab.analysis.page.report import write_report
from lab.analysis.result import analyse, write_result
from lab.clients.target import Target
from lab.display import RunDisplay
from lab.endpoints import words_without_secrets
from lab.profiles import Profile
from lab.records import Result
from lab.run.environment import profile_without_secrets
from lab.run.folder import RunFolder, become_latest
from lab.run.runner import run_profile
from lab.stack.places import ROOT
from producers.dataset import Dataset


def typed_command() -> tuple[str, ...]:
    """The command that this process is, as it may be written down."""
    return ("./sluice", *words_without_secrets(sys.argv[1:]))


def recorded(profile: Profile, dataset: Dataset, target: Target, runs: Path) -> RunFolder:
    """Run the profile once, as this command says; the folder with its records."""
    folder = RunFolder.create(runs, profile.name)
    measure(profile, dataset, target, folder, typed_command())
    become_latest(folder.path, runs)
    return folder


def measure(profile: Profile, dataset: Dataset, target: Target, folder: RunFolder, command: Sequence[str]) -> None:
    """Run the profile on the target's servers; the records are in the folder then."""
    folder.write_text("profile.json", profile_without_secrets(profile).model_dump_json(indent=1) + "\n")
    display = RunDisplay()
    with display.showing():
        run_profile(profile, dataset, target, folder, root=ROOT, progress=display, command=command)
        display.end()


def conclude(folder: RunFolder) -> Result:
    """Make result and report of the records."""
    analysis = analyse(folder.path)
    write_result(analysis)
    write_report(analysis)
    return analysis.result
