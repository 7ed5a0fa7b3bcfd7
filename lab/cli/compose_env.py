"""`sluice compose-env`: what each profile asks of the containers, written down for Docker Compose."""

from lab.console import console
from lab.errors import ProfileError
from lab.profiles.containers import FOLDER, env_files
from lab.stack.places import ROOT


def compose_env() -> None:
    """Write compose/experiments/ anew from experiments/profiles/, after a profile was added or changed."""
    wanted = dict(env_files(ROOT))
    changed = 0
    try:
        for path in sorted((ROOT / FOLDER).rglob("*.env")):
            if path.relative_to(ROOT) not in wanted:
                path.unlink()
                changed += 1
        for name, text in wanted.items():
            path = ROOT / name
            if not path.is_file() or path.read_text("utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                changed += 1
    except OSError as error:
        raise ProfileError(f"{error.filename}: cannot be written ({error.strerror})") from error
    console.print(f"{FOLDER}: {len(wanted)} files, {changed} changed")
