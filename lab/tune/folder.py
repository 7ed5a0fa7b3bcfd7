"""The folder of a tune while it runs; `lab.analysis.tune.folder` reads what is in it."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from lab.analysis.tune.folder import read_tune_plan, stage_folders
from lab.errors import ProfileError
from lab.files import write_whole
from lab.records.suite import SuitePlan
from lab.records.tune import Stage, TunePlan
from lab.run.folder import TUNES, RunFolder
from lab.suite.folder import SuiteFolder


@dataclass(frozen=True)
class TuneFolder:
    """Folder in which a tune keeps its records."""

    path: Path

    @classmethod
    def begin(cls, runs: Path, plan: TunePlan) -> "TuneFolder":
        """A new folder with the plan, which gets the folder's name as its id and begins now."""
        folder = RunFolder.create(runs / TUNES, plan.tune)
        folder.write("plan.json", plan.model_copy(update={"tune_id": folder.run_id, "started_s": time.time()}))
        return cls(folder.path)

    def removed_if_empty(self) -> bool:
        """Remove the folder if no run has begun, as when servers cannot be started; whether it did."""
        if any(folder.run_ids() for _, folder in self.stages()):
            return False
        shutil.rmtree(self.path)
        return True

    def plan(self) -> TunePlan:
        """The plan that was fixed; raises ProfileError if there is none, or it is one of another version."""
        return read_tune_plan(self.path)

    def stages(self) -> list[tuple[Stage, SuiteFolder]]:
        """The stages that have begun, in their order."""
        return [(stage, SuiteFolder(path)) for stage, path in stage_folders(self.path)]

    def begin_stage(self, stage: Stage, plan: SuitePlan) -> SuiteFolder:
        """A new folder for a stage; the plan of its suite is written last, so that half a stage is none."""
        path = self.path / "stages" / stage.name
        if path.exists():
            shutil.rmtree(path)
        path.mkdir(parents=True)
        write_whole(path / "stage.json", stage.model_dump_json(indent=1) + "\n")
        folder = SuiteFolder(path)
        folder.write_plan(plan.model_copy(update={"suite_id": f"{self.path.name}/{stage.name}"}))
        return folder


def find_tune(runs: Path, name: str) -> TuneFolder:
    """The last tune of a profile; raises ProfileError if there is none."""
    if last := _last_below(runs / TUNES / name):
        return last
    raise ProfileError(f"{name}: no such tune has run below {runs / TUNES}")


def tune_at(runs: Path, name: str) -> TuneFolder | None:
    """The tune that a path means: its folder, or `tunes/<profile>` for the last one; `None` if it means none."""
    for path in (Path(name), runs / name):
        if _is_tune(path):
            return TuneFolder(path.resolve())
        if path.parent.name == TUNES and (last := _last_below(path)):
            return last
    return None


def _last_below(path: Path) -> TuneFolder | None:
    folders = sorted(filter(_is_tune, path.glob("*")), key=lambda folder: folder.name)
    return TuneFolder(folders[-1].resolve()) if folders else None


def _is_tune(path: Path) -> bool:
    return (path / "plan.json").is_file() and TUNES in path.resolve().parts and "stages" not in path.resolve().parts
