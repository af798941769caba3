"""The terminal of `moldau top`: drawn anew at each look and when its size changes, left as it was found.

The cluster is asked on a thread of its own, because an answer may take seconds and a key should not.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import threading
import tty
from time import monotonic
from typing import TYPE_CHECKING, Final

from moldau.cli.failure import DONE
from moldau.cli.style import Style
from moldau.cli.top_lines import screen
from moldau.diagnosis.traffic import Traffic, between
from moldau.errors import MoldauError

if TYPE_CHECKING:
    from moldau.diagnosis.traffic import Moment, Observer

# Another screen beside the one with what was typed before; and no cursor.
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"

# Those that end us arrive as bytes, and the terminal is left as it was.
_WATCHED: Final = (signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP)
_QUIT: Final = b"qQ\x03\x04"


class Screen:
    def __init__(self, observer: Observer, interval: float) -> None:
        self._observer = observer
        self._interval = interval
        self._traffic: Traffic | None = None
        self._trouble: str | None = None
        self._failure: MoldauError | None = None
        self._ended = threading.Event()
        # A byte in it says that there is something to draw.
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._style = Style.of_output()

    def run(self) -> int:
        """Until q; MoldauError if the cluster does not even answer the first time."""
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
        watched = {number: signal.signal(number, lambda *_: None) for number in _WATCHED}
        waking = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        looking = threading.Thread(target=self._look, name="moldau-top", daemon=True)
        self._print(_ENTER)
        try:
            tty.setcbreak(keyboard)
            looking.start()
            while self._failure is None and self._wait(keyboard):
                self._draw()
        finally:
            self._ended.set()
            signal.set_wakeup_fd(waking)
            for number, handler in watched.items():
                signal.signal(number, handler)
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
            self._print(_LEAVE)
        if self._failure is not None:
            raise self._failure
        return DONE

    def _wait(self, keyboard: int) -> bool:
        """Whether to go on, once there is something to draw."""
        readable, _, _ = select.select([keyboard, self._reading], [], [])
        if keyboard in readable:
            typed = os.read(keyboard, 64)
            if not typed or any(key in _QUIT for key in typed):
                return False
        if self._reading in readable:
            said = os.read(self._reading, 256)
            return signal.SIGTERM not in said and signal.SIGHUP not in said
        return True

    def _draw(self) -> None:
        width, height = shutil.get_terminal_size()
        if self._traffic is None:
            shown = ["Looking at the cluster, twice ..."]
        else:
            shown = screen(self._traffic, width, height, self._style)
        if self._trouble is not None:
            shown = [*shown[: height - 1], self._style.paint(self._trouble[:width], "red")]
        # Each line over the one that was there: nothing flickers. None after the last, or the terminal would scroll.
        lines = f"{_REST_OF_LINE}\n".join(shown)
        self._print(f"{_HOME}{lines}{_REST_OF_LINE}{_REST_OF_SCREEN}")

    @staticmethod
    def _print(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    # ----------------------------------------------------------------------------------------------- on its own thread

    def _look(self) -> None:
        before: Moment | None = None
        while not self._ended.is_set():
            began = monotonic()
            try:
                after = self._observer.look()
            except MoldauError as error:
                if before is None:
                    self._failure = error
                self._trouble = str(error)
            else:
                if before is not None:
                    self._traffic, self._trouble = between(before, after), None
                before = after
            self._wake()
            self._ended.wait(max(0.0, began + self._interval - monotonic()))

    def _wake(self) -> None:
        try:
            os.write(self._writing, b"\0")
        except BlockingIOError:
            return
