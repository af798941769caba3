"""Three nodes, three replicas of everything: what replication costs, and how long nobody can write when a node goes.

A topic has a partition for each node, which leads it and follows the two others. min.insync.replicas is 2, as it has to
be for a node to be missed by nobody. Loads come first, while all Java machines are warm; then nodes are stopped and
killed. A node of each contender is broker and controller in one process.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.clusters import NODES, RunningCluster, cluster_of, one_node_only
from bench.contenders import Contender
from bench.conversation import Conversation
from bench.frames import Frame, fetch_frame, produce_frame
from bench.interruption import writing
from bench.load import Group, GroupResult, end_to_end, run
from bench.results import Metric, percentile
from bench.rows.produce import RECORDS, SIZES
from bench.rows.row import (
    CPU_GB,
    KIB,
    MB_S,
    P50,
    P99,
    P999,
    WINDOW_SECONDS,
    ClusterMeasure,
    Plan,
    Row,
    latencies,
    one_record,
)
from bench.steady import Warmth, until_steady
from moldau.protocol.api import ApiKey
from moldau.testing import Node

CHAPTER = "Three nodes"
SETTINGS = {"min.insync.replicas": "2"}
MANY = 5000
ELECTED_SECONDS = 60.0
SETTLE_SECONDS = 1.0  # before a fault, and after a node came back

_numbers = itertools.count(1)


@contextmanager
def topic(cluster: RunningCluster) -> Iterator[str]:
    name = f"three-{next(_numbers):06d}"
    cluster.create_topic(name, settings=SETTINGS)
    try:
        yield name
    finally:
        if cluster.alive:
            cluster.delete_topic(name)


def load(cluster: RunningCluster, plan: Plan, frame: Frame, depth: int = 5, connections: int = NODES) -> GroupResult:
    """Each node is sent what is for the partition it leads."""
    group = Group("three", frame, connections=connections, depth=depth, ports=cluster.ports)
    done = run(cluster.addresses[0], [group], warmup=plan.warmup, seconds=plan.seconds, directory=plan.directory)
    return done["three"]


def warm_cluster(contender: Contender, cluster: RunningCluster, plan: Plan) -> Warmth:
    """Small requests and large ones, until the large ones are answered at an even rate."""
    short = plan._replace(seconds=min(WINDOW_SECONDS, plan.seconds))
    with topic(cluster) as name:
        small = one_record(name, plan, NODES)
        bulk = produce_frame(name, 64 * KIB, plan.produce_version, partitions=NODES)

        def window() -> float:
            load(cluster, short, small, connections=10 * NODES, depth=1)
            return load(cluster, short, bulk).per_second

        return until_steady(window, plan.patience(contender))


# ------------------------------------------------------------------------------------------------------------- loads


def replicated(size: int, record: int) -> ClusterMeasure:
    def measure(_: Contender, cluster: RunningCluster, plan: Plan) -> dict[str, float]:
        with topic(cluster) as name:
            frame = produce_frame(name, size, plan.produce_version, record=record, partitions=NODES)
            before = cluster.cpu_seconds()
            result = load(cluster, plan, frame)
            cpu = cluster.cpu_seconds() - before
        rate = result.per_second * frame.payload
        spent = cpu / (rate * (plan.seconds + plan.warmup) / 1e9)
        return {"MB/s": rate / 1e6, "CPU s/GB": spent, **latencies(result)}

    return measure


def to_a_consumer(_: Contender, cluster: RunningCluster, plan: Plan) -> dict[str, float]:
    with topic(cluster) as name:
        leader = cluster.addresses[0]
        with Conversation(leader) as conversation:
            id = conversation.topic(name, plan.version(ApiKey.METADATA), NODES)
        fetch = fetch_frame(name, id, 64 * KIB, plan.version(ApiKey.FETCH))
        count = int(plan.seconds * 500)
        produce = one_record(name, plan)
        times = end_to_end(leader, produce, fetch, warmup=count // 10, count=count, directory=plan.directory)
    return {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99), "p99.9": percentile(times, 0.999)}


def memory(contender: Contender, plan: Plan) -> dict[str, float]:
    with cluster_of(contender, plan.directory / "fresh-cluster") as cluster, topic(cluster) as name:
        cluster.wait_quiet()
        before, began = cluster.cpu_seconds(), time.perf_counter()
        idle = cluster.memory_mb()
        time.sleep(min(3.0, plan.seconds))
        busy = (cluster.cpu_seconds() - before) / (time.perf_counter() - began) / NODES
        load(cluster, plan, one_record(name, plan, NODES), connections=10 * NODES, depth=1)
        load(cluster, plan, produce_frame(name, 64 * KIB, plan.produce_version, partitions=NODES))
        return {"idle": idle, "after work": cluster.memory_mb(), "idle CPU": busy * 100}


# ------------------------------------------------------------------------------------------------------------ faults


def interrupted(cluster: RunningCluster, fault: Callable[[], None], mend: Callable[[], None]) -> float:
    """The longest wait of a record in milliseconds, from the fault until every partition takes records again."""
    with topic(cluster) as name:
        with writing(cluster.bootstrap, name, NODES) as writer:
            time.sleep(SETTLE_SECONDS)
            writer.watch()
            fault()
            writer.wait_resumed()
            longest = writer.end()
        mend()
        cluster.wait_whole(name)
    return longest


def killed(_: Contender, cluster: RunningCluster, _plan: Plan) -> dict[str, float]:
    def gap(node: Node) -> float:
        return interrupted(cluster, node.kill, node.start)

    return {"a leader": gap(cluster.follower()), "the controller": gap(cluster.controller)}


def stopped(_: Contender, cluster: RunningCluster, _plan: Plan) -> dict[str, float]:
    def gap(node: Node) -> float:
        def fault() -> None:
            node.stop()
            time.sleep(SETTLE_SECONDS)

        return interrupted(cluster, fault, node.start)

    return {"a leader": gap(cluster.follower()), "the controller": gap(cluster.controller)}


def restarted(_: Contender, cluster: RunningCluster, _plan: Plan) -> dict[str, float]:
    """One node after the other, each when the one before is in sync again, as an upgrade does it."""
    with topic(cluster) as name, writing(cluster.bootstrap, name, NODES) as writer:
        time.sleep(SETTLE_SECONDS)
        writer.watch()
        began = time.perf_counter()
        for node in cluster.nodes:
            node.restart()
            cluster.wait_whole(name)
        took = time.perf_counter() - began
        time.sleep(SETTLE_SECONDS)
        return {"longest wait": writer.end(), "all restarted": took}


def elected(contender: Contender, plan: Plan) -> dict[str, float]:
    """How long a third of many partitions is without a leader that a client is told of."""
    number = MANY if plan.haste == 1 else MANY // 10
    with cluster_of(contender, plan.directory / "fresh-cluster") as cluster:
        began = time.perf_counter()
        cluster.create_topic("many", number, SETTINGS)
        made = time.perf_counter() - began
        cluster.wait_quiet()
        memory_mb = cluster.memory_mb()
        node = cluster.follower()
        stopping = threading.Thread(target=node.stop)
        stop = until_led(cluster, stopping.start, node, number, led=False)
        stopping.join()
        node.start()
        cluster.wait_whole("many", number)
        cluster.wait_quiet()
        preferred = until_led(cluster, cluster.elect_preferred, node, number, led=True)
        kill = until_led(cluster, node.kill, node, number, led=False)
    return {
        "clean stop": stop,
        "preferred leaders": preferred,
        "kill -9": kill,
        "created": made * 1000,
        "memory of a node": memory_mb,
    }


def until_led(cluster: RunningCluster, change: Callable[[], None], node: Node, number: int, led: bool) -> float:
    """Milliseconds from the change until another node tells clients that all partitions are led: a third of them by
    this node, or none."""
    other = next(each for each in cluster.nodes if each is not node and each is not cluster.controller)
    share = sum(index % NODES == cluster.nodes.index(node) for index in range(number)) if led else 0
    began = time.perf_counter()
    change()
    with Conversation(("127.0.0.1", other.port)) as conversation:
        while time.perf_counter() - began < ELECTED_SECONDS:
            leaders = [each.leader_id for each in conversation.partitions("many")]
            if min(leaders) >= 0 and leaders.count(node.id) == share:
                return (time.perf_counter() - began) * 1000
            time.sleep(0.01)
    raise TimeoutError(f"not all partitions were led after {ELECTED_SECONDS:.0f} s")


# -------------------------------------------------------------------------------------------------------------- rows


def ms(name: str, goal: str = "") -> Metric:
    return Metric(name, "ms", more_is_better=False, goal=goal)


def _row(title: str, metrics: list[Metric], *, quick: bool = True, **options: object) -> Row:
    return Row(CHAPTER, f"three nodes: {title}", metrics, unable=one_node_only, quick=quick, **options)  # type: ignore[arg-type]


ROWS = [
    *(
        _row(
            f"produce {size} batches of {record} records, acks=all, 3 replicas",
            [MB_S, P50, P99, P999, CPU_GB],
            cluster=replicated(SIZES[size], RECORDS[record]),
            quick=(size, record) in (("16 KiB", "100 B"), ("1 MiB", "1 KB")),
        )
        for record, size in itertools.product(RECORDS, SIZES)
    ),
    _row("end to end: sent until a waiting fetch has it", [P50, P99, P999], cluster=to_a_consumer, cost=4.0),
    _row(
        "failover after kill -9",
        [ms("a leader"), ms("the controller")],
        cluster=killed,
        cost=28.0,
        warmed=False,
        most=2,
    ),
    _row(
        "failover after a clean stop",
        [ms("a leader"), ms("the controller")],
        cluster=stopped,
        cost=14.0,
        warmed=False,
        most=2,
    ),
    _row(
        "rolling restart",
        [ms("longest wait"), Metric("all restarted", "s", more_is_better=False)],
        cluster=restarted,
        cost=18.0,
        warmed=False,
        most=2,
    ),
    _row(
        "memory of a node, idle and after work",
        [
            Metric("idle", "MB", False),
            Metric("after work", "MB", False),
            Metric("idle CPU", "% of a core", False),
        ],
        fresh=memory,
        cost=15.0,
        most=1,
    ),
    _row(
        f"{MANY:,} partitions: until all that a node led are led again",
        [
            ms("clean stop"),
            ms("preferred leaders"),
            ms("kill -9"),
            ms("created"),
            Metric("memory of a node", "MB", False),
        ],
        fresh=elected,
        cost=70.0,
        most=1,
    ),
]
