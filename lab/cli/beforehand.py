"""Warning of a busy machine, before a measurement begins."""

from rich.markup import escape

from lab.analysis.figures.disturbance import MOST_OTHER_CPU_PERCENT
from lab.console import PipeProofConsole
from lab.monitor.beforehand import LOOK_S, Others, look
from lab.targets import TargetName

NAMED_CORES = 0.1
"""Use of cores above which the busiest program is named."""


def warn_of_others(target: TargetName, *helps: str) -> None:
    """Look at this machine for some seconds, and say on the terminal if other programs use its cores.

    Args:
        target: Where the servers are; of others than those on this machine nothing is said.
        helps: Remedies beside stopping the program.
    """
    errors = PipeProofConsole(stderr=True, highlight=False)
    if target is TargetName.LOCAL and is_read(errors) and (text := others_text(look(LOOK_S), helps)):
        errors.print(f"[yellow]![/yellow] {escape(text)}", soft_wrap=True)


def is_read(errors: PipeProofConsole) -> bool:
    """Check that somebody reads what is said now, and can do something about it: a log has the report's warnings."""
    return errors.is_terminal


def others_text(seen: Others | None, helps: tuple[str, ...]) -> str:
    """Sentence on other programs that take more of the cores than a run may lose; empty where they do not."""
    if seen is None or seen.percent <= MOST_OTHER_CPU_PERCENT:
        return ""
    most = ""
    if seen.busiest is not None and seen.busiest.cores >= NAMED_CORES:
        name, pid, cores = seen.busiest
        most, helps = f", most of all {name} (process {pid}: {cores:.1f} cores)", (*helps, f"to stop {name}")
    what = f" What helps: {', or '.join(helps)}." if helps else ""
    return f"Other programs take {seen.percent:.0f} % of the cores{most}: runs will scatter.{what}"
