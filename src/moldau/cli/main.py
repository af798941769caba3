"""Entry point: finds the command, runs it, and turns every way it can end into a status and at most one sentence."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from moldau import __version__
from moldau.cli.arguments import HelpFormatter
from moldau.cli.failure import BROKEN_PIPE, DONE, EXIT_STATUSES, FAILED, INTERRUPTED, NO_BROKER, USAGE, Failure
from moldau.errors import MoldauError


class Command(NamedTuple):
    module: str
    summary: str


COMMANDS: Final = {
    "start": Command("moldau.cli.start", "start a node (broker, controller or both) in the foreground"),
    "storage": Command("moldau.cli.storage", "prepare the data directories of a node; show whose they are"),
    "topics": Command("moldau.cli.topics", "create, list, alter, delete topics; move replicas, leaders, offsets"),
    "configs": Command("moldau.cli.configs", "show and change settings of topics and brokers; explain every setting"),
    "produce": Command("moldau.cli.produce", "write records from standard input or a file to a topic"),
    "consume": Command("moldau.cli.consume", "read records of a topic to standard output"),
    "quotas": Command("moldau.cli.quotas", "show and change how much users, clients and addresses may use"),
    "transactions": Command("moldau.cli.transactions", "list, describe and abort transactions; find those that hang"),
    "groups": Command("moldau.cli.groups", "list, describe and delete groups; show their lag and move their offsets"),
    "share-groups": Command("moldau.cli.share_groups", "list, describe and delete share groups; move them"),
    "acls": Command("moldau.cli.acls", "say who may do what; tell whether somebody may, and by which rule"),
    "top": Command("moldau.cli.top", "show how much goes on, live: brokers, the hottest topics, groups and their lag"),
    "doctor": Command("moldau.cli.doctor", "look for what is wrong with a cluster and this machine, and what mends it"),
    "explain": Command("moldau.cli.explain", "explain why something is stuck, and what would unblock it"),
    "cluster": Command("moldau.cli.cluster", "start a cluster on this machine; describe a cluster and its disks"),
    "users": Command("moldau.cli.users", "list, add and remove the users who log in by SCRAM"),
    "tokens": Command("moldau.cli.tokens", "delegation tokens: ask for one, list, renew and end them"),
    "brokers": Command("moldau.cli.brokers", "list and describe brokers, empty one, have one forgotten"),
    "quorum": Command("moldau.cli.quorum", "show the controllers and how far each is; change who votes"),
    "console": Command("moldau.cli.console", "serve a page that shows a cluster, and acts on it"),
    "pipeline": Command("moldau.cli.pipeline", "declared pipelines on Spark: write, check, draw, run and watch them"),
    "history": Command("moldau.cli.history", "export, rekey, repartition, erase, recompress, verify what topics hold"),
    "log": Command("moldau.cli.log", "look into log segments, indexes and checkpoints on disk"),
    "simulate": Command("moldau.cli.simulate", "run clusters in memory that lose machines, disks and connections"),
    "completion": Command("moldau.cli.completion", "have bash, zsh or fish complete commands, options and names"),
    "version": Command("moldau.cli.version", "show the version and what it runs on"),
}

_START_ONE: Final = "Start one with `moldau start`."
# What to do where no broker answers, by how the reason begins.
_ADVICE: Final = {
    "a frame of": "What listens there does not speak Kafka's protocol.",
    "the connection was closed before an answer": "It may want TLS: --security-protocol SSL or SASL_SSL.",
    "the connection was closed during the TLS handshake": "It may not speak TLS: --security-protocol PLAINTEXT.",
    "timed out": "It takes connections and says nothing; is it a broker?",
    "Name or service not known": "Is the name right?",
    "Temporary failure in name resolution": "Is the name right?",
}

_DESCRIPTION = "Kafka, in Python: a broker that any Kafka client talks to, and the tools around it."

_EPILOG = f"""\
a first walk:
  moldau start                                   a node on 127.0.0.1:9092, data in ./data
  moldau topics create rivers --partitions 3
  printf 'vltava\\nlabe\\n' | moldau produce rivers
  moldau consume rivers
  moldau topics describe rivers
  moldau log dump data/rivers-0 --records --verify

`moldau COMMAND --help` explains a command. Commands that talk to a cluster take --bootstrap HOST:PORT
(default 127.0.0.1:9092), --config FILE with the properties of a Kafka client and more for TLS and SASL and,
where they print tables, --json for machines.

{EXIT_STATUSES}"""


class Parser(ArgumentParser):
    """Says what is wrong in one sentence instead of a page of usage.

    Options cannot be abbreviated: a script that did would break the day another option begins with the same letters.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:].rstrip(".")
        self.exit(USAGE, f"{self.prog}: {sentence}. See `{self.prog} --help`.\n")


def build_parser(chosen: str | None, *, alone: bool = False) -> Parser:
    """The parser with all commands by name, and the arguments of the chosen one only; `alone`, of that one only."""
    parser = Parser(prog="moldau", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=HelpFormatter)
    parser.add_argument("--version", action="version", version=f"moldau {__version__}")
    # With the name given, argparse has no reason to lay out a usage line, for which it would load half of its friends.
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=Parser, required=True, prog=parser.prog
    )
    for name, command in COMMANDS.items():
        if alone and name != chosen:
            continue
        child = commands.add_parser(name, help=command.summary, formatter_class=HelpFormatter)
        if name == chosen:
            import_module(command.module).configure(child)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if os.environ.get("MOLDAU_TRACEBACK"):
        return _run(arguments)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more on its way out, and would complain about the same broken pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Failure as failure:
        return _say(str(failure), failure.status)
    except MoldauError as error:
        return _say(_with_advice(error), NO_BROKER if _is_no_broker(error) else FAILED)
    except OSError as error:
        return _say(_os_sentence(error), FAILED)
    except Exception as error:  # a fault of ours: still one sentence, and the way to see more
        return _say(f"Unexpected {type(error).__name__}: {error} (MOLDAU_TRACEBACK=1 shows where).", FAILED)


def _run(arguments: Sequence[str]) -> int:
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    if not arguments:
        build_parser(None).print_help()
        return DONE
    # Seventeen parsers take as long to make as Python to start; who begins with a command has no use for the others.
    options = build_parser(chosen, alone=arguments[0] in COMMANDS).parse_args(arguments)
    run: Callable[[Namespace], int | None] = options.run
    status = run(options)
    sys.stdout.flush()
    return DONE if status is None else status


def _say(sentence: str, status: int) -> int:
    text = " ".join(sentence.split())
    print(f"moldau: {text if text.endswith(('.', '!', '?')) else text + '.'}", file=sys.stderr)
    return status


def _is_no_broker(error: MoldauError) -> bool:
    from moldau.client.errors import NoBrokerAnswers

    return isinstance(error, NoBrokerAnswers)


def _with_advice(error: MoldauError) -> str:
    text = str(error)
    if not _is_no_broker(error):
        return text
    reason = getattr(error, "reason", None) or ""
    return f"{text} {next((advice for begin, advice in _ADVICE.items() if reason.startswith(begin)), _START_ONE)}"


def _os_sentence(error: OSError) -> str:
    reason = (error.strerror or str(error)).rstrip(".")
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."
