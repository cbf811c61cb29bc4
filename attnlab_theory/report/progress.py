"""How far a command has come, on standard error: a bar with the time left, or lines where there is no terminal."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from attnlab_theory.exits import visible

EVERY = 10.0
"""Seconds between two lines."""

COUNT = re.compile(r"\b([0-9]+) of ([0-9]+)\b")
"""In a message: how far the work has come."""


class Progress:
    """The progress of some work in equal parts. It says at once what is being done.

    Args:
        doing: what is being done, such as "judging".
        total: the number of parts.
        parts: what the parts are called, such as "claims".
        every: seconds between two lines where there is no bar.
        quiet: say nothing.
    """

    def __init__(self, doing: str, total: int, parts: str, *, every: float = EVERY, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._doing, self._total, self._parts, self._every = doing, total, parts, every
        self._done, self._begun, self._lock = 0, time.monotonic(), threading.Lock()
        self._said = self._begun
        self._bar = _bar(self.console)
        self._task = self._bar.add_task(doing, total=total)

    def __enter__(self) -> "Progress":
        self._begun = self._said = time.monotonic()
        if self.console.is_terminal:
            self._bar.start()
        else:
            self._say(f"{self._doing}: {self._total} {self._parts}")
        return self

    def __exit__(self, *leaving: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def begin(self, part: str) -> None:
        """Name the part that is being done, beside the bar."""
        self._bar.update(self._task, description=escape(f"{self._doing} {part}"))

    def advance(self) -> None:
        """One more part is done."""
        with self._lock:
            self._done += 1
            self._bar.update(self._task, completed=self._done)
            now = time.monotonic()
            if self.console.is_terminal or now - self._said < self._every or self._done == self._total:
                return
            self._said = now
            left = (now - self._begun) / self._done * (self._total - self._done)
            self._say(f"{self._doing}: {self._done} of {self._total} {self._parts}, about {duration(left)} left")

    @contextlib.contextmanager
    def cleared(self) -> Iterator[None]:
        """Take the bar away while the block prints."""
        with self._lock:
            shown = self._bar.live.is_started
            if shown:
                self._bar.stop()
            try:
                yield
            finally:
                if shown:
                    self._bar.start()

    def _say(self, text: str) -> None:
        self.console.print(visible(text), markup=False)


class Messages:
    """Messages about some work, such as "3 of 20 sentences". A terminal shows only the latest one, as a bar.

    Elsewhere a message with a count is a line at most every ten seconds, and any other message is a line.

    Args:
        quiet: say nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._bar, self._task, self._kind, self._said = _bar(self._console), None, "", -EVERY

    def __enter__(self) -> "Messages":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *leaving: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def tell(self, text: str) -> None:
        """Show a message instead of the one before it."""
        count = COUNT.search(text)
        done, total = (int(count[1]), int(count[2])) if count else (0, None)
        if not self._console.is_terminal:
            now = time.monotonic()
            if count and now - self._said < EVERY:
                return
            self._said = now if count else self._said
            self._console.print(visible(text), markup=False)
            return
        kind = re.sub("[0-9]+", "", text)
        if self._task is not None and kind == self._kind:
            self._bar.update(self._task, description=escape(visible(text)), completed=done, total=total)
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._kind, self._task = kind, self._bar.add_task(escape(visible(text)), completed=done, total=total)


@contextlib.contextmanager
def counted(doing: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar for work whose length is known only while it is done. Without a terminal there is none.

    The block gets a function that takes the number of steps done and planned.

    Args:
        doing: what is done, such as "asking mine.py::f".
        quiet: say nothing.
    """
    console = Console(stderr=True, quiet=quiet)
    with _bar(console) if console.is_terminal else contextlib.nullcontext(_bar(console)) as bar:
        task = bar.add_task(escape(visible(doing)), total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)


def _bar(console: Console) -> Bar:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn())
    left = (TimeRemainingColumn(), TextColumn("left"))
    return Bar(*columns, *left, console=console, transient=True, redirect_stdout=False)


@contextlib.contextmanager
def said(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal what the block is doing, until it ends.

    Without a terminal nothing is shown: if the input is bad, its one line stands alone.

    Args:
        text: what goes on, such as "loading the experiments".
        quiet: say nothing.
    """
    console = Console(stderr=True, quiet=quiet)
    with console.status(escape(f"{visible(text)} …")) if console.is_terminal else contextlib.nullcontext():
        yield


def duration(seconds: float) -> str:
    """Seconds for people: seconds up to two minutes, then minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
