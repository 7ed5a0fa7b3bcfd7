"""Whether a profile's sink is there to run: other people's sinks join a race only where they are."""

import shutil
import string
from pathlib import Path

from lab.errors import ProfileError
from lab.extensions import PIPELINES, example_pipelines
from lab.profiles import Profile
from lab.profiles.connector_keys import OURS
from lab.profiles.mapping import load_template
from lab.run.load.command import own_values
from lab.run.load.rally.program import why_not_rally_here
from lab.stack.plugin import PLUGIN_PATH, given_plugin_folders, holds_class


def plugin_folders(*profiles: Profile) -> tuple[Path, ...]:
    """Folders of plugin folders that a worker needs for all of these profiles, those of the environment first."""
    named = [Path(profile.sink.plugin_path).absolute() for profile in profiles if profile.sink.plugin_path]
    return tuple(dict.fromkeys((*given_plugin_folders(), *sorted(named))))


def why_not_here(profile: Profile, root: Path) -> str | None:
    """In one sentence, what this machine lacks to run the profile; `None` when it lacks nothing.

    Args:
        root: The checkout, for connector templates.
    """
    if not profile.load.uses_kafka:
        return why_not_rally_here(profile)
    if not profile.sink.is_connector:
        return missing_pipeline(profile, root)
    gone = [folder for folder in plugin_folders(profile) if not folder.is_dir()]
    if gone:
        where = "sink.plugin_path" if profile.sink.plugin_path else PLUGIN_PATH
        return f"{where}: {gone[0]}: no such folder, expected one that holds plugin folders"
    return missing_class(profile, root)


def missing_pipeline(profile: Profile, root: Path) -> str | None:
    """What to say when the command's program, or the installed pipeline, cannot run here; `None` of a connector.

    Raises:
        ProfileError: The package of the pipeline cannot be used.
    """
    if profile.sink.command:
        return missing_program(profile.sink.command[0], root)
    if profile.sink.pipeline is None:
        return None
    where = f"sink.pipeline: {profile.sink.pipeline}"
    if profile.sink.pipeline not in PIPELINES:
        folder = example_pipelines(root)[profile.sink.pipeline]
        return (
            f"{where}: not installed; pip install --no-deps --target FOLDER {folder}, set SLUICE_EXTENSIONS to that "
            f"folder's absolute path, and see {folder}"
        )
    pipeline = PIPELINES[profile.sink.pipeline]
    try:
        lack = pipeline.lacks(profile.sink.config)
    except Exception as error:
        raise ProfileError(f"{where}: {type(error).__name__}: {error}") from error
    return lack and f"{where}: {lack}"


def missing_program(word: str, root: Path) -> str | None:
    """What to say when the program of a command is not there, or may not be executed."""
    program = string.Template(word).safe_substitute(own_values(root))
    if shutil.which(str(root / program) if "/" in program else program):
        return None
    if "/" in program and (root / program).is_file():
        return (
            f"sink.command: {program}: not executable; chmod +x it, or put its interpreter first, such as ${{python}}"
        )
    return f"sink.command: {program}: no such program here; install it, or give its path"


def missing_class(profile: Profile, root: Path) -> str | None:
    """What to say when no plugin has the class of the connector; a name without a package is the worker's to judge."""
    name = connector_class(profile, root)
    if name is None or "." not in name or name.startswith(OURS) or holds_class(plugin_folders(profile), name):
        return None
    return (
        f"sink.connector: {profile.sink.connector}: no plugin here has the class {name}; put the plugin's folder into "
        f"a folder of your own and name that one as sink.plugin_path or in {PLUGIN_PATH}"
    )


def why_not_on(worker_plugins: frozenset[str], profile: Profile, root: Path) -> str | None:
    """In one sentence, what this machine and a worker that exists already lack to run the profile's sink.

    Args:
        worker_plugins: Classes of the connectors that the worker has.
        root: The checkout, for connector templates.
    """
    if not profile.load.uses_kafka:
        return None
    if not profile.sink.is_connector:
        return missing_pipeline(profile, root)
    name = connector_class(profile, root)
    if name is None or "." not in name or name in worker_plugins:
        return None
    return (
        f"sink.connector: {profile.sink.connector}: the Connect worker has no plugin with the class {name}; put the "
        "plugin's folder into the worker's plugin.path, and restart it"
    )


def connector_class(profile: Profile, root: Path) -> str | None:
    """The class that the profile, or else its template, names; `None` when that cannot be read."""
    if stated := profile.sink.config.get("connector.class"):
        return str(stated)
    try:
        return str(load_template(profile.sink.connector, root)["connector.class"])
    except (ProfileError, LookupError):
        # A broken template has sentences of its own, when it is filled in.
        return None
