"""One run: prepare, fill, load, settle, verify, collect."""

from lab.clients.target import Target
from lab.run.environment import without_secrets, words_without_secrets
from lab.run.folder import RunFolder, find_run
from lab.run.load.entrants import plugin_folders, why_not_here
from lab.run.progress import RunProgress, SilentProgress
from lab.run.runner import run_profile

__all__ = [
    "RunFolder",
    "RunProgress",
    "SilentProgress",
    "Target",
    "find_run",
    "plugin_folders",
    "run_profile",
    "why_not_here",
    "without_secrets",
    "words_without_secrets",
]
