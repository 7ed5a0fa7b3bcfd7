"""The terminal that commands write to."""

import os

from rich.console import Console


class PipeProofConsole(Console):
    """A console whose command goes on, and ends as it would, when whoever read its output has gone, such as `head`."""

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


console = PipeProofConsole(highlight=False)
