"""What Spark says when something fails, cut down to the sentence that was meant for people.

Around it stand stack traces of two languages, plans and state codes. A failure inside Python ends with the error's own
sentence and the last line of the user's code that it passed.
"""

from __future__ import annotations

import re
from typing import Final

_ENDS: Final = ("\n=== Streaming Query ===", "JVM stacktrace", "\n\tat ", "\n== SQL")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_CALL: Final = re.compile(r"^An error occurred while calling \S+\s*:\s*(?:[\w.$]+(?:Exception|Error): )?")
_TRACEBACK: Final = "Traceback (most recent call last):"
_RAISED: Final = re.compile(r"^((?:\w+\.)*[A-Z]\w*)(?:: (.*))?$")
_FILE: Final = re.compile(r'^\s*File "([^"]+)", line (\d+)')
_NOT_THEIRS: Final = ("site-packages", "/pyspark/", "/py4j/", "<frozen", "pyspark.zip", "/moldau/")
_LONGEST: Final = 600


def sentence_of(error: object) -> str:
    text = str(getattr(error, "_desc", None) or error)
    for end in _ENDS:
        text = text.split(end)[0]
    if _TRACEBACK in text:
        found = _from_traceback(text)
        if found:
            return found
    text = _CLASS.sub("", _CALL.sub("", _SQL_STATE.sub("", text).strip()))
    return " ".join(text.split())[:_LONGEST] or type(error).__name__


def _from_traceback(text: str) -> str | None:
    where, said = "", None
    for line in text.split(_TRACEBACK)[-1].splitlines():
        file = _FILE.match(line)
        if file:
            if not any(part in file[1] for part in _NOT_THEIRS):
                where = f"{file[1]}:{file[2]}: "
            continue
        raised = _RAISED.match(line)
        if raised:
            name = raised[1].rpartition(".")[2]
            # An error of ours is a sentence already; others are known by their names.
            ours = raised[1].startswith("moldau.")
            said = f"{raised[2]}" if ours and raised[2] else f"{name}: {raised[2]}" if raised[2] else name
    if said is None:
        return None
    return f"{where}{' '.join(said.split())}"[:_LONGEST]
