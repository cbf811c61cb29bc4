"""Requests to a child and its replies, a line each. Every wait and every buffer has a limit."""

import os
import select
import selectors
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from attnlab_theory.sandbox.processes import Program

LONGEST_REPLY = 16 * 2**20
"""The most bytes of one reply: 1.5 million numbers fit."""

MOST_OUTPUT = 2**16
"""Bytes kept of what a submission prints. The rest is read and dropped."""

LOOK_EVERY = 0.2
"""Seconds between two checks whether a reply can still come."""

PIECE = 2**18
MOST_PIECES = 64


class Late(Exception):
    """No reply within the time."""


class Flooded(Exception):
    """A reply longer than any may be."""


class Ended(Exception):
    """The child has closed its end of the pipe."""


class Pipes(NamedTuple):
    """The judge's ends of the pipes."""

    requests: int
    replies: int
    output: int


def pipes_of(program: Program) -> Pipes:
    """The pipes of a program, taken from the objects that would close them."""

    def taken(pipe: Any) -> int:
        descriptor = os.dup(pipe.fileno())
        pipe.close()
        return descriptor

    return Pipes(*map(taken, (program.stdin, program.stdout, program.stderr)))


class Exchange:
    """The judge's side of the pipes to a child. They never block.

    Writing, reading and the child's prints are waited for together. So a child that does not read its requests, or
    writes without end, only spends its own time.
    """

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self._selector = selectors.DefaultSelector()
        for descriptor in pipes:
            os.set_blocking(descriptor, False)
        for descriptor in (pipes.replies, pipes.output):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._received = bytearray()
        self._unsent = bytearray()
        self._printed = bytearray()
        self._listening = True
        self.dropped = 0
        """How many printed bytes were dropped."""

    @property
    def printed(self) -> str:
        """What the child has printed so far, from its beginning."""
        self.drain(0)
        return self._printed.decode("utf-8", errors="replace")

    def taken(self) -> str:
        """What the child has printed since this was last asked."""
        printed = self.printed
        self._printed.clear()
        return printed

    def send(self, request: bytes) -> None:
        """Queue a line. It is sent while the next replies are waited for."""
        if request and not self._unsent:
            self._selector.register(self._pipes.requests, selectors.EVENT_WRITE)
        self._unsent += request

    def ask(self, request: bytes, seconds: float, lost: Callable[[], bool] = lambda: False) -> bytes:
        """Send a line and wait for one.

        Args:
            request: the line, with its end. Empty to send nothing.
            seconds: how long to wait.
            lost: called a few times a second. It says whether no reply can come any more.

        Raises:
            Late: if it takes longer.
            Flooded: if the reply is too long.
            Ended: if no reply can come.
        """
        deadline = time.monotonic() + seconds
        self.send(request)
        while True:
            if (end := self._received.find(b"\n")) >= 0:
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                return line
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            ready = self._selector.select(min(left, LOOK_EVERY))
            if not ready and lost():
                raise Ended
            for key, _ in ready:
                if key.fd == self._pipes.requests:
                    self._sent()
                elif key.fd == self._pipes.replies:
                    self._receive()
                else:
                    self._print()

    def drain(self, seconds: float) -> None:
        """Read what the child has printed. Wait at most this many seconds for what it prints before it ends."""
        deadline = time.monotonic() + seconds
        # Not for ever: a child that lives may print faster than anybody reads.
        for _ in range(MOST_PIECES):
            if not self._listening:
                return
            ready = select.select([self._pipes.output], [], [], max(deadline - time.monotonic(), 0))[0]
            if not ready:
                return
            self._print()

    def close(self) -> None:
        """Close the judge's ends."""
        self._selector.close()
        for descriptor in self._pipes:
            os.close(descriptor)

    def _sent(self) -> None:
        try:
            del self._unsent[: os.write(self._pipes.requests, self._unsent[:PIECE])]
        except BlockingIOError:
            return
        except OSError:
            # A child that has died takes no request; how it died is said where its reply would be.
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(self._pipes.requests)

    def _receive(self) -> None:
        piece = os.read(self._pipes.replies, PIECE)
        if not piece:
            raise Ended
        self._received += piece
        if len(self._received) > LONGEST_REPLY:
            raise Flooded

    def _print(self) -> None:
        piece = os.read(self._pipes.output, PIECE)
        if not piece:
            self._selector.unregister(self._pipes.output)
            self._listening = False
        kept = piece[: MOST_OUTPUT - len(self._printed)]
        self._printed += kept
        self.dropped += len(piece) - len(kept)
