"""`moldau start`: one node in the foreground.

Standard output carries one line, `ready HOST:PORT`, when clients are accepted; whoever started us waits for it. The
log goes to standard error. SIGTERM, SIGHUP and Ctrl-C end the node in order; a second one ends it at once.
"""

from __future__ import annotations

import errno
import gc
import logging
import math
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from socket import gaierror
from typing import TYPE_CHECKING

from moldau.cli.arguments import at_least, checked, key_value
from moldau.cli.failure import DONE, FAILED, USAGE, Failure

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.node import Node
    from moldau.runtime.real import RealRuntime
    from moldau.runtime.service_manager import ServiceManager

DEFAULT_DATA = "data"
DEFAULT_LISTEN = "127.0.0.1:9092"

# New objects before the youngest are gone through, and how often that happens before older and all of them are. Few of
# either: opening thousands of partitions leaves very many objects, and going through ten times the youngest at once
# took 15 to 40 ms.
_COLLECTIONS = (5_000, 1, 1)
_LARGEST_REUSED = 32 << 20
_MOST_SPARE = 64 << 20

_EPILOG = """\
The settings are Kafka's, from a server.properties file if one is given. Above the file stand variables, where --env
asks for them, and above those the options.
`moldau configs list` shows every setting, `moldau configs describe NAME` explains one.

When clients are accepted, one line is printed on standard output: `ready HOST:PORT`. The log goes to standard
error. SIGTERM, SIGHUP and Ctrl-C shut the node down in order, with exit status 0; under nohup SIGHUP is ignored.
systemd is told as well (Type=notify), and while the node runs that it is alive (WatchdogSec).

examples:
  moldau start                                        on 127.0.0.1:9092, data in ./data
  moldau start --listen 127.0.0.1:0 --data /tmp/d     on a free port, told by the `ready` line
  moldau start server.properties --set num.partitions=3
  moldau start --nodes auto                           as many nodes as cores; the first one's address is told
  moldau start server.properties --nodes auto         the same in a cluster of several machines: the node of the file,
                                                      and brokers beside it, whose numbers and ports follow"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Start a node in the foreground: broker, controller or, without process.roles, both in one."
    parser.epilog = _EPILOG
    parser.add_argument("properties", metavar="server.properties", nargs="?", help="settings with Kafka's names")
    parser.add_argument("--data", metavar="DIR", help=f"where logs and metadata are kept (default ./{DEFAULT_DATA})")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=checked(_listen_address),
        help=f"where clients connect; port 0 takes a free one (default {DEFAULT_LISTEN})",
    )
    parser.add_argument(
        "--nodes",
        metavar="N",
        type=_node_count,
        help="so many nodes under one supervisor, `auto` for one per core; the data of each in its own directory",
    )
    parser.add_argument(
        "--cluster-id",
        metavar="ID",
        help="the cluster a new data directory is to belong to, as with `moldau storage format`",
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", type=key_value, default=[], help="a setting; repeatable"
    )
    parser.add_argument(
        "--env",
        action="store_true",
        help="also settings from the environment, as Apache Kafka's image takes them: KAFKA_NUM_PARTITIONS is "
        "num.partitions, two underscores are one and three a hyphen, and CLUSTER_ID is --cluster-id",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what to log on standard error (default info)",
    )
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="how: lines, or a line of JSON for each entry"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if options.nodes is not None:
        return _run_many(options)
    # From here on, not only once the node watches for them: nothing is written yet, so leaving at once is in order.
    for number in stopping_signals():
        signal.signal(number, lambda _number, _frame: sys.exit(DONE))
    # Half of the start is loading modules, which leaves nothing for a collector to find; it would look twenty times.
    gc.disable()
    from moldau.cli.node_log import begin, tell_start
    from moldau.config.broker import BrokerConfig

    begin(options.log_level, options.log_format)
    given, cluster_id = _given(options)
    references = None
    if options.properties is not None or options.env:
        from moldau.cli.config_providers import Providers

        references = Providers.of_node(options.properties, environment=options.env)
    config = BrokerConfig.parse(node_properties(given, options.data, options.listen, options.set), references)
    for remark in config.remarks:
        logging.getLogger("moldau.config").warning("%s", remark)
    tell_start(config)
    try:
        return _run_node(config, cluster_id)
    except OSError as error:
        raise _start_failure(error, config) from error


def _run_many(options: Namespace) -> int:
    """A node is one reactor, so a large machine runs one per core. They share a rack: replicas go to other machines."""
    from pathlib import Path

    from moldau.cli.secured_cluster import node_files
    from moldau.cli.siblings import check_kept
    from moldau.cli.supervisor import Supervisor, say_ready
    from moldau.links.addresses import parse_address
    from moldau.supervision.claim import claimed
    from moldau.supervision.layout import HOST, remembered, replication

    if options.env:
        raise Failure("--nodes gives each node settings of its own; leave --env out.", USAGE)
    if options.properties is not None:
        return _run_siblings(options)
    if options.cluster_id is not None:
        raise Failure("Without a file --nodes makes a cluster by itself; leave --cluster-id out.", USAGE)
    address = parse_address(options.listen or DEFAULT_LISTEN, lowest_port=0)
    if address.host != HOST:
        raise Failure(
            f"Without a file --nodes makes a cluster that is reached on this machine only, at {HOST}; a "
            "server.properties says where nodes of a larger one listen.",
            USAGE,
        )
    directory = Path(options.data or DEFAULT_DATA)
    with claimed(directory) as claim:
        check_kept(directory, (), makes_cluster=True)
        layout = remembered(directory, options.nodes, address.port if options.listen else None)
        # Nor would a second replica on the same machine be worth what it costs.
        settings = {**replication(1), "broker.rack": os.uname().nodename, **dict(options.set)}
        files = node_files(directory, layout, settings)
        supervisor = Supervisor.of_layout(directory, claim, layout, settings, log_level=options.log_level, files=files)
        return supervisor.run(lambda: say_ready([layout.places[0].address]))


def _run_siblings(options: Namespace) -> int:
    """The nodes of this machine in a cluster of several: the one of the file, and brokers beside it."""
    from pathlib import Path

    from moldau.cli.siblings import check_kept, cluster_id, differing, shared_directory, siblings
    from moldau.cli.supervisor import Supervisor, say_ready
    from moldau.supervision.claim import claimed
    from moldau.supervision.process import NodeProcess

    given = read_properties(options.properties)
    properties = node_properties(given, options.data, options.listen, options.set)
    each = siblings(properties, options.nodes)
    said = differing(properties, given, ("log.dirs", "log.dir"))
    directory = shared_directory(properties)
    with claimed(directory) as claim:
        check_kept(directory, each, makes_cluster=False)
        belongs_to = options.cluster_id or cluster_id(properties, directory)
        nodes = [
            NodeProcess(
                number,
                directory / f"node-{number}",
                {**said, **settings},
                cluster_id=belongs_to,
                log_level=options.log_level,
                properties=Path(options.properties),
            )
            for number, settings in each.items()
        ]
        # They wait for the controllers as long as their own settings say, and tell when it was too long.
        supervisor = Supervisor(directory, claim, nodes, voters=1, ready_seconds=math.inf)
        return supervisor.run(lambda: say_ready(nodes[0].addresses[:1]))


def _given(options: Namespace) -> tuple[dict[str, str], str | None]:
    """The settings of the file and above it those of the environment, and the cluster's id."""
    given = {} if options.properties is None else read_properties(options.properties)
    if not options.env:
        return given, options.cluster_id
    from moldau.cli.config_providers import resolved
    from moldau.cli.environment_settings import cluster_id, environment_settings

    variables = resolved(environment_settings(os.environ), "The environment")
    if "log.dir" in variables:
        given.pop("log.dirs", None)
    return given | variables, options.cluster_id or cluster_id(os.environ)


def node_properties(
    given: Mapping[str, str], data: str | None, listen: str | None, settings: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """The settings of the node: the file, above it --data and --listen, above all --set; defaults where nothing is."""
    properties = dict(given)
    if data is not None or not {"log.dirs", "log.dir"} & properties.keys():
        properties.pop("log.dir", None)
        properties["log.dirs"] = DEFAULT_DATA if data is None else data
    if listen is not None:
        _listen_on(properties, listen)
    elif not given:
        # Only without a file: whoever wrote one and left the listeners out means Kafka's default, all interfaces.
        properties["listeners"] = f"PLAINTEXT://{DEFAULT_LISTEN}"
    properties.update(settings)
    return properties


def _listen_on(properties: dict[str, str], address: str) -> None:
    """Moves the first listener for clients to `address`; listeners of controllers stay where they are."""
    listeners = _items(properties.get("listeners", ""))
    controllers = {name.upper() for name in _items(properties.get("controller.listener.names", ""))}
    names = [listener.partition("://")[0] for listener in listeners]
    position = next((index for index, name in enumerate(names) if name.upper() not in controllers), None)
    if position is None:
        properties["listeners"] = ",".join([f"PLAINTEXT://{address}", *listeners])
        return
    moved = f"{names[position]}://{address}"
    listeners[position] = moved
    properties["listeners"] = ",".join(listeners)
    advertised = _items(properties.get("advertised.listeners", ""))
    if advertised:
        # What the file advertises for this listener was true of the address it had there.
        same = [item.partition("://")[0].upper() == names[position].upper() for item in advertised]
        kept = [moved if is_moved else item for item, is_moved in zip(advertised, same, strict=True)]
        properties["advertised.listeners"] = ",".join(kept)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def read_properties(path: str) -> dict[str, str]:
    from moldau.cli.config_providers import resolved
    from moldau.config.definition import ConfigError
    from moldau.config.properties import decode_properties

    try:
        with open(path, "rb") as file:
            return resolved(decode_properties(file.read()), path)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.") from error
    except ConfigError as error:
        raise Failure(f"{path}: {error}.") from error


def _run_node(config: BrokerConfig, cluster_id: str | None) -> int:
    from moldau._speed import keep_freed_memory
    from moldau.node import Node
    from moldau.runtime.real import RealRuntime
    from moldau.runtime.service_manager import ServiceManager

    collect_from_now_on()
    # Requests of a megabyte come and go by the thousand; here the process is ours, so its memory may stay.
    keep_freed_memory(_LARGEST_REUSED, _MOST_SPARE)
    runtime = RealRuntime()
    service_manager = ServiceManager(os.environ)

    def say_ready(addresses: Sequence[tuple[str, int]]) -> None:
        where = _say_ready(addresses)
        service_manager.ready(runtime.loop, f"STATUS=clients are accepted at {where}")

    try:
        node = Node(config, runtime, cluster_id=cluster_id)
        _shut_down_on_signals(node, runtime, service_manager)
        node.start(ready=say_ready)
        runtime.loop.run()
    finally:
        runtime.close()
    if node.failure is not None:
        raise node.failure
    return DONE


def _shut_down_on_signals(node: Node, runtime: RealRuntime, service_manager: ServiceManager) -> None:
    from moldau.runtime.service_manager import STOPPING

    asked = False

    def shut_down(number: int) -> None:
        nonlocal asked
        if asked:
            os._exit(FAILED)
        asked = True
        logging.getLogger("moldau").info("shutting down on %s", signal.Signals(number).name)
        service_manager.tell(STOPPING)
        node.shutdown(runtime.loop.stop)

    runtime.loop.on_signal(stopping_signals(), shut_down)


def stopping_signals() -> list[signal.Signals]:
    """Those that end the node in order. Who ignores the end of the terminal, as nohup does, goes on ignoring it."""
    numbers = [signal.SIGTERM, signal.SIGINT]
    return numbers if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [*numbers, signal.SIGHUP]


def collect_from_now_on() -> None:
    """A collection goes through all objects at once, which takes a loop that serves everybody 50 ms for a million of
    them. What is there now stays; and since requests leave no cycles behind, there is hardly anything to find. What is
    still there after a few collections stays, too: as partitions, groups and connections end without leaving cycles,
    they are freed all the same, and nobody goes through all of them because one more was made.

    The collection at the end finds nothing to go through. Without it a quarter of what the last one found would have to
    come before anything is left alone again."""
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
    if _leave_alone not in gc.callbacks:
        gc.callbacks.append(_leave_alone)
    gc.enable()
    gc.collect()


def _leave_alone(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()


def _say_ready(addresses: Sequence[tuple[str, int]]) -> str:
    from moldau.links.addresses import Address

    # Again, for what the node has made: its partitions and their logs.
    gc.collect()
    collect_from_now_on()
    reachable = [Address("127.0.0.1" if host in ("", "0.0.0.0", "::") else host, port) for host, port in addresses]
    where = ",".join(str(address) for address in reachable)
    print(f"ready {where}", flush=True)
    return where


def _start_failure(error: OSError, config: BrokerConfig) -> Failure:
    """The operating system's errors that happen to beginners, in words that say what to do."""
    where = ", ".join(str(endpoint) for endpoint in (*config.broker_endpoints, *config.controller_endpoints))
    directories = ", ".join(config.log_directories)
    reason = (error.strerror or str(error)).rstrip(".")
    if isinstance(error, gaierror):
        return Failure(f"The host in {where} is not known ({reason}); choose another address with --listen.")
    match error.errno:
        case errno.EADDRINUSE:
            return Failure(f"Something listens already at {_taken(config) or where}; choose another address.")
        case errno.EADDRNOTAVAIL:
            return Failure(f"This machine does not have the address in {where}; choose another with --listen.")
        case errno.EACCES | errno.EPERM | errno.EROFS if error.filename is None:
            return Failure(f"Listening at {where} is not permitted: {reason}.")
        case errno.EACCES | errno.EPERM | errno.EROFS | errno.ENOTDIR | errno.EEXIST | errno.ENOSPC:
            place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else directories
            return Failure(f"The data directory cannot be written ({place}: {reason}); choose another with --data.")
    return Failure(f"The node cannot start: {reason}" + (f" ({error.filename})." if error.filename else "."))


def _taken(config: BrokerConfig) -> str:
    """Which of several addresses it is: the node has given up all that it had, so each is asked for once more."""
    from moldau.runtime.ports import SocketOptions
    from moldau.runtime.sockets import listening_socket

    wanted = {str(end): (end.host, end.port) for end in (*config.broker_endpoints, *config.controller_endpoints)}
    if config.metrics_listener:
        host, _, number = config.metrics_listener.rpartition(":")
        wanted[f"metrics.listener {config.metrics_listener}"] = host.strip("[]"), int(number)
    found = []
    for name, address in wanted.items():
        try:
            listening_socket(*address, SocketOptions()).close()
        except OSError:
            found.append(name)
    return ", ".join(found)


def _node_count(text: str) -> int:
    if text == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return at_least(1)(text)


def _listen_address(text: str) -> str:
    from moldau.links.addresses import parse_address

    return str(parse_address(text, lowest_port=0))
