"""`moldau completion`: scripts for shells, and what they ask while somebody types.

The scripts know nothing of the commands: they ask the program itself, so a new option is completed the day it is there.
Names of topics and groups come from the cluster that the typed options name, within a moment or not at all.
"""

from __future__ import annotations

import os
import shlex
import signal
from argparse import REMAINDER, Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from moldau.cli.arguments import add_subcommand, add_subcommands
from moldau.cli.completion_scripts import SCRIPTS
from moldau.cli.failure import DONE

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

# While the shell waits nothing can be typed. Where brokers are far away somebody may want to wait all the same.
LIMIT_VARIABLE: Final = "MOLDAU_COMPLETION_SECONDS"
_LIMIT_SECONDS: Final = 1.5
_MOST: Final = 500

_FILES: Final = ("FILE", "PEM", "PATH", "OUT", "server.properties")
_EPILOG: Final = """\
to install it, for good:
  bash   echo 'source <(moldau completion bash)' >> ~/.bashrc
  zsh    moldau completion zsh > "${fpath[1]}/_moldau"      or: source <(moldau completion zsh) after compinit
  fish   moldau completion fish > ~/.config/fish/completions/moldau.fish

Names of topics and groups are asked of the cluster that the line, the environment or a profile names, within 1.5 s;
MOLDAU_COMPLETION_SECONDS says another limit."""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Print what makes a shell complete commands, options and names of topics and groups."
    parser.epilog = _EPILOG
    commands = add_subcommands(parser)
    for shell in SCRIPTS:
        add_subcommand(commands, shell, _print_script, f"print the script for {shell}", _EPILOG).set_defaults(
            shell=shell
        )
    asked = add_subcommand(commands, "candidates", _print_candidates, "what the scripts ask: how a line may go on")
    asked.add_argument("--line", metavar="TEXT", help="the line up to the cursor, as bash has it")
    asked.add_argument(
        "--breaks", metavar="TEXT", default="", help="where bash begins a new word, as in COMP_WORDBREAKS"
    )
    asked.add_argument("words", metavar="WORD", nargs=REMAINDER, help="after --: the words up to the cursor")


def _print_script(options: Namespace) -> None:
    print(SCRIPTS[options.shell], end="")


def _print_candidates(options: Namespace) -> None:
    """The first line says what follows: `names`, or that the shell should offer `files` or `directories` itself."""
    # Whatever goes wrong, nobody wants to read it in the middle of a line; nor to wait for it.
    limit = _limit()
    signal.signal(signal.SIGALRM, lambda *_: os._exit(DONE))
    signal.setitimer(signal.ITIMER_REAL, limit)
    if options.line is None:
        words = options.words[1:] if options.words[:1] == ["--"] else options.words
    else:
        words = split(options.line)[1:]
    found = candidates(words or [""])
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(found.kind)
    typed = (words or [""])[-1]
    # Bash takes what follows such a letter for a word of its own.
    cut = max((typed.rfind(letter) + 1 for letter in options.breaks if letter in ":="), default=0)
    for name, summary in found.rows[:_MOST]:
        if options.line is not None:
            print(shlex.quote(name)[cut:] if shlex.quote(name) == name else shlex.quote(name[cut:]))
        else:
            print(f"{name}\t{summary}" if summary else name)


def _limit() -> float:
    try:
        return max(0.1, float(os.environ.get(LIMIT_VARIABLE, "")))
    except ValueError:
        return _LIMIT_SECONDS


class Candidates(NamedTuple):
    kind: str
    rows: Sequence[tuple[str, str]] = ()


def split(line: str) -> list[str]:
    """The words of a line that is still being typed; the last is empty after a blank."""
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return words if closing or not line[-1:].isspace() else [*words, ""]
    return line.split(" ")


def candidates(words: Sequence[str]) -> Candidates:
    """How the last of the words may go on; what comes before it is taken as it is."""
    from moldau.cli.main import COMMANDS, build_parser

    typed = words[-1]
    if len(words) == 1:
        known = [(name, command.summary) for name, command in COMMANDS.items()]
        return _names(typed, [*known, ("--help", ""), ("--version", "")] if typed.startswith("-") else known)
    if words[0] not in COMMANDS:
        return Candidates("names")
    parser = _children(build_parser(words[0], alone=True))[words[0]]
    place = _Place(parser, [words[0]])
    for word in words[1:-1]:
        place.take(word)
    return place.offer(typed, words)


def _children(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            return dict(action.choices)
    return {}


class _Place:
    """Where in the grammar of a command the cursor is."""

    def __init__(self, parser: ArgumentParser, path: list[str]) -> None:
        self._parser = parser
        self._path = path
        self._waiting: Action | None = None
        self._positionals = 0

    def take(self, word: str) -> None:
        children = _children(self._parser)
        if self._waiting is not None:
            self._waiting = None
        elif word in self._parser._option_string_actions:
            action = self._parser._option_string_actions[word]
            self._waiting = action if action.nargs != 0 else None
        elif word in children:
            self._parser, self._path, self._positionals = children[word], [*self._path, word], 0
        elif not word.startswith("-"):
            self._positionals += 1

    def offer(self, typed: str, words: Sequence[str]) -> Candidates:
        option, equals, value = typed.partition("=")
        actions = self._parser._option_string_actions
        if self._waiting is not None:
            return self._values(self._waiting, typed, "", words)
        if equals and option in actions:
            return self._values(actions[option], value, option + "=", words)
        if typed.startswith("-"):
            return _names(typed, [(name, action.help or "") for name, action in actions.items() if len(name) > 2])
        children = _children(self._parser)
        if children:
            return _names(typed, [(name, _summary(self._parser, name)) for name in children])
        positionals = [action for action in self._parser._actions if not action.option_strings]
        if not positionals:
            return Candidates("names")
        last = positionals[min(self._positionals, len(positionals) - 1)]
        if self._positionals >= len(positionals) and last.nargs not in ("+", "*"):
            return Candidates("names")
        return self._values(last, typed, "", words)

    def _values(self, action: Action, typed: str, before: str, words: Sequence[str]) -> Candidates:
        if action.choices is not None:
            rows = [(str(each), "") for each in action.choices]
        elif action.metavar in _FILES:
            return Candidates("files")
        elif action.metavar == "DIR":
            return Candidates("directories")
        else:
            ask = self._question(action)
            rows = [] if ask is None else [(name, "") for name in _asked(ask, words)]
        return _names(before + typed, [(before + name, summary) for name, summary in rows])

    def _question(self, action: Action) -> Callable[[Cluster], Iterable[str]] | None:
        """What the value is a name of."""
        option = action.option_strings[-1] if action.option_strings else ""
        if self._path[0] == "topics" and action.metavar == "NAME" and self._path[-1] != "create":
            return _topics
        if action.metavar == "TOPIC" or option == "--topic":
            return _topics
        if "share-group" in self._path or self._path[0] == "share-groups" or option == "--share-group":
            return _share_groups if action.metavar in ("GROUP", "NAME") else None
        if action.metavar == "GROUP" or option == "--group":
            return _groups
        if action.metavar == "ID" and (self._path[0] == "transactions" or self._path[-1] == "txn"):
            return _transactional_ids
        return None


def _summary(parser: ArgumentParser, name: str) -> str:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            return next((str(each.help or "") for each in action._choices_actions if each.dest == name), "")
    return ""


def _names(typed: str, rows: Iterable[tuple[str, str]]) -> Candidates:
    """Only what can be typed: a name that would move the cursor is nothing to complete."""
    return Candidates(
        "names", [(name, summary) for name, summary in rows if name.startswith(typed) and name.isprintable()]
    )


# ------------------------------------------------------------------------------------------------ what the cluster has


class _Quiet(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _asked(question: Callable[[Cluster], Iterable[str]], words: Sequence[str]) -> list[str]:
    from moldau.cli.connection import add_connection, connect

    parser = _Quiet(add_help=False, allow_abbrev=False)
    add_connection(parser)
    try:
        # The last word is not whole yet.
        options, _ = parser.parse_known_args([word for word in words[:-1] if word not in ("-h", "--help")])
        options.timeout = _limit()
        with connect(options) as cluster:
            return sorted(question(cluster))
    except Exception:  # nothing is offered then: a typing mistake is told when the line is whole
        return []


def _topics(cluster: Cluster) -> Iterator[str]:
    from moldau.client.admin.topics import list_topics

    return (topic.name for topic in cluster.run(list_topics()))


def _groups(cluster: Cluster) -> Iterator[str]:
    from moldau.client.admin.groups import list_groups

    return (each.group_id for each in cluster.run(list_groups()) if each.type != "share")


def _share_groups(cluster: Cluster) -> Iterator[str]:
    from moldau.client.admin.groups import list_groups

    return (each.group_id for each in cluster.run(list_groups(types=["share"])))


def _transactional_ids(cluster: Cluster) -> Iterator[str]:
    from moldau.client.admin.transactions import list_transactions

    return (each.transactional_id for each in cluster.run(list_transactions()))
