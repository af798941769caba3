"""Exit statuses, and the exception that ends a command with one of them and a sentence."""

from __future__ import annotations

from typing import Final

from moldau.errors import MoldauError

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NO_BROKER: Final = 3
DAMAGED: Final = 4
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

EXIT_STATUSES: Final = """\
exit status:
  0    done
  1    refused or failed; one sentence on standard error says why
  2    the command line is not valid
  3    no broker answers
  4    `moldau log verify`, `moldau log dump --verify` or `moldau history verify` found damage
  130  interrupted (Ctrl-C); `moldau start` ends with 0 instead
  141  whoever read the output has closed it
  143  ended by SIGTERM; 129 by SIGHUP
`moldau doctor` has its own: 0 no problems, 1 problems, 2 no broker could be asked."""


class Failure(MoldauError):
    """The command cannot go on. Its text is the one sentence the user sees."""

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(message)
        self.status = status
