"""`sluice tune`: the settings that a profile's own documents want, searched and then confirmed."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from lab.analysis.suite.names import lower_first
from lab.analysis.tune.goals import compared_metrics, parsed_bounds, parsed_goal
from lab.analysis.tune.paste import recommended_files, write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import analyse_tune
from lab.cli import complete
from lab.cli.beforehand import warn_of_others
from lab.cli.options import (
    DocumentOptions,
    JsonOption,
    MarkOptions,
    OutputOptions,
    ServerOptions,
    SettingsOption,
    refuse_other_marks,
    with_groups,
)
from lab.cli.page import meanwhile
from lab.cli.run import dataset_of, shorthand
from lab.cli.tune_display import TuneDisplay, print_tune, show_tune_plan
from lab.console import console, print_json
from lab.display import print_report
from lab.endpoints import words_without_secrets
from lab.errors import ProfileError, VerificationError, is_interrupt
from lab.profiles import Profile
from lab.profiles.datasets import known_dataset
from lab.profiles.loader import effective
from lab.profiles.spaces import Start, allowed_problem, candidates_of, load_space
from lab.profiles.suites import rate_docs_per_s
from lab.records.marks import Marks
from lab.records.tune import Candidate, LeftOut, TunePlan, TuneResult
from lab.run.folder import TUNES, become_latest, check_runs
from lab.suite.loads import is_drain
from lab.suite.plan import server_shape
from lab.targets import TargetName
from lab.targets.choose import servers_of
from lab.targets.servers import Servers, typed_command
from lab.tune.execution import Profiles, TuneExecution, first_suite
from lab.tune.folder import TuneFolder, find_tune
from lab.tune.plan import SCREENING_WINDOW_S, Expected, expected, sized, window_of
from lab.tune.screening import Screening, of_two_levels
from lab.tune.search import Search
from producers.dataset import Dataset

MINUTES, SCREENING_MINUTES = 60.0, 10.0
OF_A_FILE = "file"
RESUME = "--resume"

StartArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PROFILE]",
        help="The start: a profile that `sluice profiles` lists, or a YAML file; with --path, `file`.",
        autocompletion=complete.profiles,
    ),
]
TuneSeedOption = Annotated[int, typer.Option(min=0, help="Another seed gives another order.")]
SpaceOption = Annotated[
    str, typer.Option(help="What may be changed: a file of experiments/spaces.", autocompletion=complete.spaces)
]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options that a search of the best settings and a screening have alike."""

    allow: Annotated[
        list[str] | None, typer.Option(metavar="KNOB", help="Try an unsafe knob of the space, by its name.")
    ] = None
    documents: DocumentOptions
    settings: SettingsOption = None
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be tried; start nothing.")] = False
    resume: Annotated[bool, typer.Option(RESUME, help="Continue the last one, which was interrupted.")] = False
    on: ServerOptions
    mark: MarkOptions
    output: OutputOptions
    as_json: JsonOption = False


@with_groups
def tune(
    profile: StartArgument = None,
    *,
    goal: Annotated[str, typer.Option(help="Goal: rate, cpu, size, or `latency at 5000` (documents/s).")] = "rate",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="FIGURE<=Fx", help="A bound relative to the start: 'size<=1.1x', 'rate>=0.95x'."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="The whole time, confirmation included.")] = MINUTES,
    seed: TuneSeedOption = 1,
    space: SpaceOption = "default",
    options: SearchOptions,
) -> int:
    """Find the best settings for your documents, confirmed in fresh runs. Example: `tune quickstart --minutes 30`."""
    wanted = TuneOptions(goal=goal, keep=tuple(keep or ()), minutes=minutes, seed=seed, space=space)
    return performed(profile, wanted, options)


@with_groups
def screen(
    profile: StartArgument = None,
    *,
    minutes: Annotated[float, typer.Option(help="The whole time, warm-up included.")] = SCREENING_MINUTES,
    seed: TuneSeedOption = 1,
    space: SpaceOption = "default",
    tried: Annotated[
        list[str] | None, typer.Option("--try", metavar="KNOB=VALUE", help="Try this value of a setting, as listed.")
    ] = None,
    options: SearchOptions,
) -> int:
    """Tell which settings matter, all of them at once. Example: `screen quickstart --minutes 10`."""
    wanted = TuneOptions(goal="cpu", minutes=minutes, seed=seed, space=space, screens=True, tried=tuple(tried or ()))
    return performed(profile, wanted, options)


def performed(profile: str | None, wanted: "TuneOptions", options: SearchOptions) -> int:
    """Run a search, or go on with it, and report."""
    short = shorthand(**vars(options.documents))
    reference = reference_of(profile, options.documents, command="screen" if wanted.screens else "tune")
    start = Start.of(reference, (*short, *(options.settings or ())))
    wanted = replace(wanted, allow=tuple(options.allow or ()), target=options.on.target)
    servers = servers_of(options.on.target, options.on.target_file)
    tuning = Tuning.of(start, wanted, servers).marked(options.mark.marks)
    if options.plan:
        show_tune_plan(tuning.plan, tuning.takes)
        return 0
    runs = options.output.runs
    check_runs(runs)
    begun = find_tune(runs, tuning.plan.tune) if options.resume else None
    if begun:
        tuning = tuning.resumed(begun)
        for _, stage in begun.stages()[-1:]:
            stage.path.touch()  # The live page takes the suite that was written last for the one under way.
    show_tune_plan(tuning.plan, tuning.takes)
    instead = () if tuning.plan.goal.name == "cpu" else ("--goal cpu, which they disturb less",)
    warn_of_others(TargetName(tuning.plan.target), "more --minutes", *instead)
    with meanwhile(options.output.page, runs):
        folder = tuning.perform(runs, begun)
        return conclude_tune(folder, runs, open_it=options.output.open_it, as_json=options.as_json)


def reference_of(profile: str | None, documents: DocumentOptions, *, command: str) -> str:
    """The profile that is meant: the one that is named, or `file` where a file is given.

    Raises:
        ProfileError: Neither.
    """
    if profile is not None:
        return profile
    if documents.path is None and documents.dataset != OF_A_FILE:
        raise ProfileError(f"{command}: got no profile, expected PROFILE, or --path FILE for your own documents")
    return OF_A_FILE


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """What the command line asks of a search.

    Attributes:
        screens: Whether it is to tell which settings matter, rather than to search the best.
        tried: Values that a screening is to try, by the names of their candidates.
    """

    goal: str
    keep: tuple[str, ...] = ()
    minutes: float
    seed: int
    space: str
    allow: tuple[str, ...] = ()
    target: TargetName = TargetName.LOCAL
    screens: bool = False
    tried: tuple[str, ...] = ()


class OneDataset:
    """The dataset of a profile; all that have the same section share it, since a file is read from end to end."""

    def __init__(self) -> None:
        self._made: dict[str, Dataset] = {}

    def __call__(self, profile: Profile) -> Dataset:
        """The profile's; raises ProfileError if it cannot be had."""
        section = profile.dataset.model_dump_json()
        if section not in self._made:
            self._made[section] = dataset_of(profile)
        return self._made[section]


@dataclass(frozen=True)
class Tuning:
    """A search that may begin.

    Attributes:
        start: As it is searched: with no more documents than a warm-up needs.
        documents: That a file has; `None` where as many as one likes can be made.
        side_by_side: Whether different servers run at the same time.
    """

    plan: TunePlan
    start: Start
    servers: Servers
    takes: Expected
    dataset_of: Callable[[Profile], Dataset]
    documents: int | None
    side_by_side: bool

    @classmethod
    def of(cls, start: Start, options: TuneOptions, servers: Servers) -> "Tuning":
        """What the command line asks for.

        Raises:
            ProfileError: It cannot be done; nothing was started.
        """
        goal = parsed_goal(options.goal)
        bounds = parsed_bounds(options.keep, goal)
        space = load_space(options.space)
        if problem := allowed_problem(space, options.allow):
            raise ProfileError(f"--allow: {problem}")
        if not (isfinite(options.minutes) and options.minutes > 0):
            raise ProfileError(f"--minutes: got {options.minutes:g}, expected minutes, more than 0")
        if not is_drain(start.profile):
            raise ProfileError(
                f"{start.reference}: load: expected a drain without a rate, whose settings decide its rate"
            )
        servers.fitted(start.profile)
        datasets = OneDataset()
        there = datasets(start.profile).documents
        if goal.rate and not start.profile.load.uses_kafka:
            raise ProfileError(
                f"--goal: latency at {goal.rate}: got a load without Kafka, which has no end-to-end latency, expected"
                " another goal"
            )
        small = sized(start, there, streams=goal.rate is not None)
        dataset = known_dataset(start.profile.dataset.name)
        bounded = there if dataset is not None and dataset.is_bounded else None
        window_s = SCREENING_WINDOW_S if options.screens else window_of(goal.rate)
        check_rate(goal.rate, window_s, bounded)
        candidates, left_out = candidates_of(space, small, options.allow)
        fit, lacking, side_by_side = fitted(candidates, small, servers, together=not options.screens)
        at_start: dict[str, Any] = {}
        if options.screens:
            at_start = {value.key: value.value for value in effective(small.profile)}
            kept, others = of_two_levels(fit, at_start, options.tried)
            fit, lacking = list(kept), [*lacking, *others]
        base = datasets(small.profile).documents
        is_started = not servers.may_be_started_anew()
        takes = expected(base, None if goal.rate else bounded, window_s, started=is_started, rate=goal.rate)
        search = (Screening if options.screens else Search)(fit, goal, bounds)
        check_time(search, options.minutes, takes, space.name)
        name, wanted = start.profile.name.replace("/", "-"), f"do the documents of {start.reference} want"
        if options.screens:
            name, wanted = f"{name}-screen", f"matter for the documents of {start.reference}"
        plan = TunePlan(
            tune=name,
            question=f"Which settings of the space {space.name} {wanted}?",
            started_s=0.0,
            profile=start.reference,
            overrides=tuple(words_without_secrets(start.overrides)),
            sized=small.overrides[len(start.overrides) :],
            fingerprint=start.profile.fingerprint(),
            space=space.name,
            goal=goal,
            bounds=bounds,
            minutes=options.minutes,
            window_s=window_s,
            seed=options.seed,
            allowed=options.allow,
            metrics=compared_metrics(goal),
            candidates=tuple(fit),
            left_out=(*left_out, *lacking),
            screens=options.screens,
            start_values={key: value for key, value in at_start.items() if key in {each.setting for each in fit}},
            target=str(options.target),
            command=typed_command(),
        )
        return cls(plan, small, servers, takes, datasets, bounded, side_by_side)

    def resumed(self, begun: TuneFolder) -> "Tuning":
        """The same with the plan that was begun; raises ProfileError if another search was begun."""
        was = begun.plan()
        if self.identity(was) != self.identity(self.plan):
            raise ProfileError(
                f"{begun.path}: cannot be resumed: start, space, goal, --keep, --allow, --try, time, seed or target are"
                f" not those that it was begun with; expected: {resuming(was.command)}"
            )
        refuse_other_marks(Marks(self.plan.labels, self.plan.note), Marks(was.labels, was.note))
        return replace(self, plan=was)

    def marked(self, marks: Marks) -> "Tuning":
        """The search with labels and a note."""
        return replace(self, plan=self.plan.model_copy(update=vars(marks)))

    @staticmethod
    def identity(plan: TunePlan) -> tuple[object, ...]:
        """What must be the same for a search to go on."""
        return (
            plan.fingerprint,
            plan.sized,
            plan.goal,
            plan.bounds,
            plan.minutes,
            plan.seed,
            plan.space,
            plan.allowed,
            plan.target,
            [each.name for each in plan.candidates] if plan.screens else (),
        )

    def perform(self, runs: Path, begun: TuneFolder | None) -> TuneFolder:
        """Search and confirm, or go on with it; its folder."""
        profiles = Profiles(self.plan, self.start, self.servers.fitted, self.dataset_of, self.documents)
        suite = first_suite(profiles)
        with self.servers.bench(suite, profiles.datasets(suite), self.plan.command) as bench:
            # Only now: servers that another command holds must not leave a folder behind.
            folder = begun or TuneFolder.begin(runs, self.plan)
            search = (Screening if self.plan.screens else Search)(
                self.plan.candidates, self.plan.goal, self.plan.bounds, profiles.is_possible, self.plan.seed
            )
            execution = TuneExecution(
                folder,
                profiles,
                search,
                bench,
                TuneDisplay(self.plan, self.takes, [run for _, stage in folder.stages() for run in stage.runs()]),
                self.takes,
                side_by_side=self.side_by_side,
            )
            try:
                execution.execute()
            except BaseException as error:
                # What a server has refused, or a file cannot give, it would again.
                if not folder.removed_if_empty() and not isinstance(error, ProfileError):
                    what = "interrupted" if is_interrupt(error) else "not finished"
                    console.print(f"{what}; resume with: {escape(resuming(self.plan.command))}", soft_wrap=True)
                raise
        return folder


def resuming(command: Sequence[str]) -> str:
    """The command that goes on with what another has begun."""
    return shlex.join([*(word for word in command if word != RESUME), RESUME])


def check_rate(rate: str | None, window_s: float, documents: int | None) -> None:
    """See that a file has documents for a stream at a stated rate; raises ProfileError if it has not."""
    if rate is None or documents is None or rate.endswith("%"):
        return
    needed = rate_docs_per_s(rate, 0.0) * window_s
    if needed > documents:
        raise ProfileError(
            f"--goal: latency at {rate}: got a file of {documents:,} documents, expected {needed:,.0f} for"
            f" {window_s:g} s; choose a lower rate"
        )


def check_time(search: Search, minutes: float, takes: Expected, space: str) -> None:
    """See that there is something to try, and time for it; raises ProfileError if there is not."""
    if not search.candidates:
        raise ProfileError(f"space {space}: no candidate fits this profile; choose another --space")
    if minutes < (least := takes.least_minutes(search.runs_of_block, search.runs_to_confirm)):
        what = "a block of combinations" + (" and a confirmation take" if search.runs_to_confirm else " takes")
        raise ProfileError(f"--minutes: got {minutes:g}, expected {ceil(least)} or more: {what} as long here")


def fitted(
    candidates: Sequence[Candidate], start: Start, servers: Servers, *, together: bool
) -> tuple[list[Candidate], list[LeftOut], bool]:
    """The candidates that can run on the servers, those that cannot with the reason, and whether servers run together.

    One that needs servers of its own, as another heap does, is only tried where both sets run side by side: to start
    servers anew would cost more than such a setting gives. A screening has no time to warm a second set.
    """
    at_start = servers.fitted(start.profile)
    able, lacking, shapes = [], [], [at_start]
    for candidate in candidates:
        profile = start.changed(start.settings([candidate])).profile
        try:
            on_servers = servers.fitted(profile)
        except ProfileError as error:
            lacking.append(LeftOut(name=candidate.name, reason="; ".join(str(error).splitlines())))
            continue
        if server_shape(on_servers) == server_shape(at_start):
            able.append(candidate)
        elif together and servers.run_together([*shapes, on_servers]):
            able.append(candidate)
            shapes.append(on_servers)
        else:
            lack = "this machine has no memory for both sets at once" if together else "a screening has one set"
            reason = f"it needs servers of its own, and {lack}"
            lacking.append(LeftOut(name=candidate.name, reason=reason))
    return able, lacking, len(shapes) > 1


def conclude_tune(folder: TuneFolder, runs: Path, *, open_it: bool, as_json: bool) -> int:
    """Analyse, print, report.

    Raises:
        VerificationError: Not one run of the start is verified, so that nothing can be compared.
    """
    result = analyse_tune(folder.path, ended=True)
    become_latest(folder.path, runs / TUNES)
    if not result.plan.screens:
        write_recommended(folder.path, result)
    report_tune(folder.path, result, open_it=open_it, as_json=as_json)
    if result.environment is None:
        raise VerificationError(lower_first(result.headline))
    return 0


def report_tune(folder: Path, result: TuneResult, *, open_it: bool, as_json: bool) -> None:
    """Write the report, and print it with what was written before."""
    print_tune(result, recommended_files(folder))
    print_report(write_tune_report(folder), open_it=open_it)
    if as_json:
        print_json(result)
