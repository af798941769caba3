"""What TLS and a login cost beside plain text: the same loads through each kind of listener of one broker.

New connections are made by eight processes, one after the other in each: connect, shake hands, ask for ApiVersions, log
in, hang up. Sessions of TLS are not resumed. Certificates have keys on P-256, passwords 4096 iterations.
"""

from __future__ import annotations

from bench.contenders import Contender
from bench.load import log_in_again_and_again
from bench.results import Metric
from bench.rows.connections import REQUESTS_S, requests
from bench.rows.consume import fetch
from bench.rows.produce import produce
from bench.rows.row import CPU_GB, KIB, MB_S, P50, P99, P999, Measure, Plan, Row, SecuredMeasure, us
from bench.secured import PROTOCOLS, SecuredBroker
from moldau.protocol.records import Compression

CHAPTER = "Secured"
FETCHED_MB = 200
CONNECTIONS = 50
LEAST_SECONDS = 1.0  # for a Java machine that has never seen a handshake, in a run of haste


def open_listeners_only(contender: Contender) -> str:
    return "" if contender.secured else "has open listeners only"


def through(protocol: str, measure: Measure) -> SecuredMeasure:
    def measured(contender: Contender, broker: SecuredBroker, plan: Plan) -> dict[str, float]:
        return measure(contender, broker.through(protocol), plan)

    return measured


def logins(protocol: str) -> SecuredMeasure:
    def measured(_: Contender, broker: SecuredBroker, plan: Plan) -> dict[str, float]:
        seconds = max(plan.seconds, LEAST_SECONDS)
        before = broker.running.cpu_seconds()
        found = log_in_again_and_again(broker.doors[protocol], warmup=plan.warmup, seconds=seconds)
        cpu = broker.running.cpu_seconds() - before
        spent = cpu / (found.per_second * (seconds + plan.warmup))
        rates = {"connections/s": found.per_second, "CPU/connection": spent * 1e6}
        return rates | {"p50": found.p50_us, "p99": found.p99_us}

    return measured


def _rows() -> list[Row]:
    bulk = produce(64 * KIB, 100, -1, Compression.NONE, 1)
    rows = []
    for protocol, name in PROTOCOLS.items():
        small = [REQUESTS_S, us("CPU/request"), P50, P99, P999]
        loads = {
            "64 KiB batches written": ([MB_S, P50, P99, P999, CPU_GB], through(protocol, bulk)),
            "1 MiB at a time read": ([MB_S, P50, P99, P999, CPU_GB], through(protocol, fetch(FETCHED_MB, 1))),
            "small writes on 1 connection": (small, through(protocol, requests(1))),
            f"small writes on {CONNECTIONS} connections": (small, through(protocol, requests(CONNECTIONS))),
            "new connections": (
                [Metric("connections/s", "/s"), us("CPU/connection"), P50, P99],
                logins(protocol),
            ),
        }
        rows += [
            Row(CHAPTER, f"{name}: {what}", metrics, secured=measure, unable=open_listeners_only)
            for what, (metrics, measure) in loads.items()
        ]
    return rows


ROWS = _rows()
