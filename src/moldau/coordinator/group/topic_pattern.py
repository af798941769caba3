"""Regular expressions over topic names, matched in linear time.

Kafka resolves subscriptions by pattern on the broker with RE2, because a backtracking engine lets one client stop a
broker with a pattern like `(a*)*b`. This is the same idea, as small as topic names allow: the pattern becomes a
nondeterministic automaton, and a name is matched by following all its states at once.

The syntax is RE2's without what topic names have no use for: literals, `.`, classes, `\\d \\w \\s` and their opposites,
groups, alternatives, `* + ? {m,n}` (greedy or not, which is the same for a yes or no), `^` and `$`, `(?i)` at the
start. Look-around and back-references do not exist in RE2 either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from moldau.errors import ErrorCode, KafkaError

MAX_LENGTH: Final = 1000
MAX_REPEAT: Final = 1000
MAX_STATES: Final = 5000

# A test of one character.
Test = Callable[[str], bool]

_CLASSES: Final[dict[str, Test]] = {
    "d": lambda c: "0" <= c <= "9",
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
    "s": lambda c: c in "\t\n\f\r ",
}
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


def compile_pattern(pattern: str) -> TopicPattern:
    """KafkaError(INVALID_REGULAR_EXPRESSION) for what is not a pattern or is too large."""
    return TopicPattern(pattern)


class TopicPattern:
    """Matches whole names, as Kafka does."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_LENGTH:
            raise _invalid(pattern[:40] + "...", f"it is longer than {MAX_LENGTH} characters")
        self._automaton = _Automaton()
        start, end = _Parser(pattern, self._automaton).parse()
        self._start = frozenset(self._automaton.closure([start], at_start=True))
        self._end = end
        # Names share prefixes, and so do the sets of states they lead to.
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, name: str) -> bool:
        states = self._start
        for character in name:
            key = (states, character)
            following = self._steps.get(key)
            if following is None:
                following = self._automaton.step(states, character)
                if len(self._steps) < MAX_STATES:
                    self._steps[key] = following
            states = following
            if not states:
                return False
        return self._end in self._automaton.closure(states, at_start=not name, at_end=True)

    def select(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name for name in names if self.matches(name))


class _Automaton:
    def __init__(self) -> None:
        # Where a state leads to: without a character, at the start of the name, at its end, by a character.
        self.free: list[list[int]] = []
        self.at_start: dict[int, int] = {}
        self.at_end: dict[int, int] = {}
        self.tests: list[tuple[Test, int] | None] = []

    def state(self) -> int:
        if len(self.free) >= MAX_STATES:
            raise OverflowError
        self.free.append([])
        self.tests.append(None)
        return len(self.free) - 1

    def closure(self, states: Iterable[int], *, at_start: bool = False, at_end: bool = False) -> set[int]:
        """All states that can be reached without a character."""
        seen = set(states)
        todo = list(seen)
        while todo:
            state = todo.pop()
            following = list(self.free[state])
            if at_start and state in self.at_start:
                following.append(self.at_start[state])
            if at_end and state in self.at_end:
                following.append(self.at_end[state])
            for each in following:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        return seen

    def step(self, states: Iterable[int], character: str) -> frozenset[int]:
        reached = []
        for state in states:
            test = self.tests[state]
            if test is not None and test[0](character):
                reached.append(test[1])
        return frozenset(self.closure(reached))


class _Parser:
    """Recursive descent; every method adds a fragment and returns its first and last state."""

    def __init__(self, pattern: str, automaton: _Automaton) -> None:
        self._pattern = pattern
        self._automaton = automaton
        self._at = 0
        self._depth = 0
        self._fold = pattern.startswith("(?i)")
        if self._fold:
            self._at = 4

    def parse(self) -> tuple[int, int]:
        try:
            fragment = self._alternatives()
        except OverflowError:
            raise _invalid(self._pattern, "it is too large") from None
        if self._at < len(self._pattern):
            raise _invalid(self._pattern, "a parenthesis is closed that was not opened")
        return fragment

    def _alternatives(self) -> tuple[int, int]:
        fragments = [self._sequence()]
        while self._take("|"):
            fragments.append(self._sequence())
        if len(fragments) == 1:
            return fragments[0]
        start, end = self._automaton.state(), self._automaton.state()
        for first, last in fragments:
            self._automaton.free[start].append(first)
            self._automaton.free[last].append(end)
        return start, end

    def _sequence(self) -> tuple[int, int]:
        start = end = self._automaton.state()
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            first, last = self._repeated()
            self._automaton.free[end].append(first)
            end = last
        return start, end

    def _repeated(self) -> tuple[int, int]:
        begin = self._at
        fragment = self._atom()
        after = self._at
        bounds = self._bounds()
        if bounds is None:
            return fragment
        self._take("?")
        if self._at < len(self._pattern) and self._pattern[self._at] in "*+":
            raise _invalid(self._pattern, "a repetition is repeated")
        end_of_repeat = self._at
        result = self._repeat(fragment, bounds, begin, after)
        self._at = end_of_repeat
        return result

    def _repeat(
        self, fragment: tuple[int, int], bounds: tuple[int, int | None], begin: int, after: int
    ) -> tuple[int, int]:
        """The fragment is read again from the pattern for every copy that is needed."""
        least, most = bounds
        free = self._automaton.free
        start, end = self._automaton.state(), self._automaton.state()
        at = start
        copies = [fragment]

        def copy() -> tuple[int, int]:
            if copies:
                return copies.pop()
            self._at = begin
            fresh = self._atom()
            assert self._at == after
            return fresh

        for _ in range(least):
            head, tail = copy()
            free[at].append(head)
            at = tail
        if most is None:
            head, tail = copy()
            free[at].append(head)
            free[tail].append(head)
            free[tail].append(end)
            free[at].append(end)
            return start, end
        for _ in range(most - least):
            free[at].append(end)
            head, tail = copy()
            free[at].append(head)
            at = tail
        free[at].append(end)
        return start, end

    def _bounds(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if not self._next_is("{"):
            return None
        close = self._pattern.find("}", self._at)
        inside = self._pattern[self._at + 1 : close] if close >= 0 else ""
        low, comma, high = inside.partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            # RE2 takes a brace that is no repetition for itself.
            return None
        self._at = close + 1
        least, most = int(low), (int(high) if high else None) if comma else int(low)
        if least > MAX_REPEAT or (most is not None and (most > MAX_REPEAT or most < least)):
            raise _invalid(self._pattern, f"the repetition {{{inside}}} is out of range")
        return least, most

    def _atom(self) -> tuple[int, int]:
        character = self._pattern[self._at]
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return self._one(self._class())
        if character == ".":
            return self._one(lambda c: c != "\n")
        if character in "^$":
            start, end = self._automaton.state(), self._automaton.state()
            (self._automaton.at_start if character == "^" else self._automaton.at_end)[start] = end
            return start, end
        if character in "*+?":
            raise _invalid(self._pattern, "a repetition has nothing to repeat")
        if character == "\\":
            return self._one(self._escape())
        return self._one(self._literal(character))

    def _group(self) -> tuple[int, int]:
        if self._take("?"):
            if self._take("P<") or (self._next_is("<") and not self._next_is("<=") and not self._next_is("<!")):
                close = self._pattern.find(">", self._at)
                if close < 0:
                    raise _invalid(self._pattern, "the name of a group does not end")
                self._at = close + 1
            elif not self._take(":"):
                raise _invalid(self._pattern, "(? must be followed by : or by the name of a group")
        self._depth += 1
        if self._depth > 50:
            raise _invalid(self._pattern, "its groups are nested too deeply")
        fragment = self._alternatives()
        self._depth -= 1
        if not self._take(")"):
            raise _invalid(self._pattern, "a parenthesis is not closed")
        return fragment

    def _class(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        opened = self._at
        while True:
            if self._at >= len(self._pattern):
                raise _invalid(self._pattern, "a bracket is not closed")
            if self._next_is("]") and self._at > opened:
                self._at += 1
                break
            tests.append(self._range())
        return lambda c: any(test(c) for test in tests) != negated

    def _range(self) -> Test:
        low = self._pattern[self._at]
        self._at += 1
        if low == "\\":
            test, low = self._escaped()
            if not low:
                return test
        following = self._pattern[self._at : self._at + 2]
        if len(following) == 2 and following[0] == "-" and following[1] != "]":
            self._at += 2
            high = following[1]
            if high == "\\":
                _, high = self._escaped()
            if not high or high < low:
                raise _invalid(self._pattern, "a range in brackets ends before it starts")
            if self._fold:
                return lambda c: any(low <= each <= high for each in (c, c.lower(), c.upper()))
            return lambda c: low <= c <= high
        return self._literal(low)

    def _escape(self) -> Test:
        return self._escaped()[0]

    def _escaped(self) -> tuple[Test, str]:
        """A test, and the character it stands for if it stands for one."""
        if self._at >= len(self._pattern):
            raise _invalid(self._pattern, "it ends with a backslash")
        character = self._pattern[self._at]
        self._at += 1
        if character.lower() in _CLASSES:
            test = _CLASSES[character.lower()]
            return (test if character.islower() else (lambda c: not test(c))), ""
        if character in _ESCAPES:
            return self._literal(_ESCAPES[character]), _ESCAPES[character]
        if character.isalnum():
            raise _invalid(self._pattern, f"\\{character} is not supported")
        return self._literal(character), character

    def _literal(self, character: str) -> Test:
        if self._fold:
            return lambda c: c.lower() == character.lower()
        return lambda c: c == character

    def _one(self, test: Test) -> tuple[int, int]:
        start, end = self._automaton.state(), self._automaton.state()
        self._automaton.tests[start] = (test, end)
        return start, end

    def _next_is(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if self._next_is(text):
            self._at += len(text)
            return True
        return False


def _invalid(pattern: str, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{pattern!r} is not a regular expression: {why}.")
