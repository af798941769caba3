"""What no linter sees: dead modules, imports by name, files that have grown, names that nobody mentions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src"
MOLDAU = SOURCE / "moldau"

SERVER_SIDE = (
    "node", "server", "replica", "coordinator", "controller", "raft", "storage", "metadata", "timeline", "protocol",
    "links", "security", "config", "metrics", "deferred.py", "types.py",
)  # fmt: skip


def modules(*rooms: str) -> Iterator[Path]:
    """The files that people write, in these rooms or in all of them."""
    for room in rooms or (".",):
        place = MOLDAU / room
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if path.parent.name != "messages":
                yield path


def shown(path: Path) -> str:
    return str(path.relative_to(MOLDAU))


# ----------------------------------------------------------------------------------------------------- dead modules

# Not imported by any module, and why they are there all the same.
ROOTS = {
    "moldau.__main__": "python -m moldau",
    "moldau.simulation.__main__": "python -m moldau.simulation",
    "moldau.testing.plugin": "pytest finds it by its entry point",
    "moldau.admin": "imported by programs: kafka-python's kafka.admin",
    "moldau.sasl.oauth": "imported by programs: kafka-python's kafka.sasl.oauth",
    "moldau.structs": "imported by programs: kafka-python's kafka.structs",
    **{
        f"moldau.{name}": f"imported by programs: kafka-python's kafka.{name}"
        for name in ("consumer", "future", "partitioner", "producer", "serializer")
    },
    "moldau.assignors": "imported by programs: kafka-python's kafka.coordinator.assignors",
    "moldau.config.documentation": "tools/generate_configuration.py writes docs/CONFIGURATION.md with it",
}
# Modules that are imported by a name in a table: the packages they lie in.
BY_NAME = ("moldau.protocol.messages", "moldau.cli")


def test_every_module_is_imported_by_somebody() -> None:
    graph = grimp.build_graph("moldau", "pyspark_moldau", "pyspark_moldau_log", cache_dir=None)
    dead = {
        module
        for module in graph.modules
        if not graph.find_modules_that_directly_import(module)
        and not graph.find_children(module)  # a package is there for what lies in it
        and not module.startswith(BY_NAME)
        and module.startswith("moldau.")
    }
    assert dead == ROOTS.keys()


def test_every_directory_of_modules_is_a_package() -> None:
    """What lies in one that is not is seen by no contract."""
    directories = {path.parent for path in MOLDAU.rglob("*.py")}
    assert [shown(directory) for directory in sorted(directories) if not (directory / "__init__.py").exists()] == []


# --------------------------------------------------------------------------------------------------- imports by name

# The linter cannot follow them, so they stay in one room: what they name lies below or beside who names it.
IMPORTERS_BY_NAME = {
    "_speed/__init__.py": "all kernels, if every one of them was compiled",
    "__init__.py": "the package's own face loads the clients when they are asked for",
    "client/admin/__init__.py": "an operation loads the messages it needs, not those of all others",
    "cli/main.py": "a command is loaded when it is given",
    "cli/dump/content.py": "message classes by the name in the index",
    "protocol/api.py": "message classes by the name in the index",
    "spark/pipeline/functions.py": "functions of the user's, by the name in a pipeline's file",
}


def test_nothing_is_imported_by_a_name_that_no_linter_sees() -> None:
    found = {
        shown(path)
        for path in modules()
        if re.search(r"\b(import_module|__import__)\s*\(", path.read_text(encoding="utf-8"))
    }
    assert found == IMPORTERS_BY_NAME.keys()


# ------------------------------------------------------------------------------------------------ the outside world

# Of posixpath only what is arithmetic on names: the rest asks the disk behind the back of `runtime.ports`.
PURE = {"join", "basename", "dirname", "normpath", "split", "splitext", "isabs", "commonpath"}


@pytest.mark.parametrize("path", [pytest.param(path, id=shown(path)) for path in modules(*SERVER_SIDE)])
def test_the_server_side_opens_no_files_by_itself(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "input", "print", "exec", "eval", "__import__"}, node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "posixpath":
            assert node.attr in PURE, node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "posixpath":
            assert {name.name for name in node.names} <= PURE, node.lineno


# ------------------------------------------------------------------------------------------------------ file length

LINES = 400
LONG = {
    "aio/consumer.py": "aiokafka's AIOKafkaConsumer has so many methods",
    "client/producer/sender.py": "one class over all partitions of a producer",
    "client/consumer/face.py": "kafka-python's KafkaConsumer has so many methods",
    "client/consumer/fetcher.py": "one class over all partitions of a consumer",
    "_speed/compaction.pyx": "one pass over a segment, in C, without a call between its parts",
    "_speed/frames.pyx": "both directions of Produce and Fetch share their helpers in C",
    "_speed/express.pyx": "a turn from the sockets to the log and back, in C, without a call between its parts",
    "_speed/records.pyx": "the walk over records, of one piece and window by window, shares its helpers in C",
    "_speed/packing.pyx": "the accumulator's batches, in C",
    "protocol/records/compression.py": "one table of codecs, each way in and out",
    "runtime/ports.py": "all that the server may ask of the outside world, in one place",
    "runtime/transport.py": "one class whose states every method of it touches",
    "storage/segment.py": "the files of a segment move together",
}


def test_files_can_be_read_in_one_sitting() -> None:
    paths = [*modules(), *sorted((MOLDAU / "_speed").glob("*.pyx"))]
    long = {shown(path) for path in paths if len(path.read_text(encoding="utf-8").splitlines()) > LINES}
    assert sorted(long - LONG.keys()) == [], f"more than {LINES} lines: divide them, or give a reason"


# ----------------------------------------------------------------------------------------------------- unused names

# Defined and mentioned nowhere else in the package, and why they are there all the same.
UNMENTIONED = {
    "REQUESTS": "what tests and measurements decode requests with",
    "uuids": "the generator writes it for arrays of ids at inflexible versions, which no message has today",
    "same_content": "how tests compare images",
    "leader_address": "the way to the active controller is being built",
    "leader_change_batch": "how tests write the beginning of an epoch",
    "max_entries": "how tests fill an index",
    "is_idle": "how tests wait for logs that are being given up",
    "is_loaded": "how tests wait for a coordinator",
}


def test_what_nobody_mentions_is_gone() -> None:
    words: Counter[str] = Counter()
    for path in SOURCE.rglob("*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".pyi"):
            words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    lonely = {
        name
        for path in modules(*SERVER_SIDE, "runtime")
        for name in defined(ast.parse(path.read_text(encoding="utf-8")))
        if words[name] == 1 and not name.startswith("__")
    }
    assert sorted(lonely - UNMENTIONED.keys()) == []


def defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


# ------------------------------------------------------------------------------------------- what one Python has


def test_no_member_of_an_enum_is_an_empty_tuple() -> None:
    """Python 3.11.2, which Debian 12 has, makes an object() of it, and only there."""
    found = [
        f"{shown(path)}: {each.name}"
        for path in modules()
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in each.bases)
        for line in each.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Tuple) and not line.value.elts
    ]
    assert not found


# ------------------------------------------------------------------------------------------------------------ tests


def test_files_of_tests_have_names_of_their_own() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name, count in names.items() if count > 1 and name not in ("conftest.py", "__init__.py")] == []
