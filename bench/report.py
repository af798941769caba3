"""A run as a Markdown page: where we stand, what was lost, what was won, and what was not measured and why."""

from __future__ import annotations

from bench.results import Measurement, Results, number
from bench.standing import OURS, RowStanding, beside_others, main_peer, remarks, standing

INTRODUCTION = """# Measured beside the peers

Written by `{command}`; the numbers of every repetition are in [results.json](results.json), the charts in
[index.html](index.html).{flames}

Everybody is warmed until the rate of {windows} windows in a row is the same to within {tolerance} %, a Java machine for
a minute at least, and once more at the beginning of every row. Loads last {seconds} s and are repeated {repetitions}
times, the contenders in turn. A cell is the median, with the least and the most in brackets. The ratio is turned so
that above 1 ours is better, for a rate as for a latency; **bold** where it is, and with ~ where the repetitions of both
overlap, so that neither is surely ahead. What was lost stands first; otherwise rows stand in the order of how much they
matter.

Like with like: both know the fate of every record (acks=all unless a row says otherwise), both keep it in the page
cache and force nothing to disk while it is produced (Kafka's default, and ours) but in the rows that say so, and both
are sent the same frames by the same generators. One node on each side, clients and brokers on the same machine; in the
rows of three nodes three on each side, each of them broker and controller in a process of its own, with three replicas
of everything, min.insync.replicas=2 and the same timeouts. What is measured when a node goes is the longest that a
record of confluent-kafka (acks=all, idempotent, otherwise its defaults) waits for its acknowledgement.

- **Kafka** runs as its own scripts start it, broker and controller in one process: {kafka}.
- **mock** is librdkafka's mock cluster: C, memory only, it validates nothing and keeps 5 MB of a partition. A ceiling,
  not a broker; it takes part where Kafka does not.
"""


FLAMES = "\nWhere the time of the rows goes that were lost once is drawn in [flames](flames/README.md)."


def markdown(results: Results, *, flames: bool = False) -> str:
    """`flames` says that there are graphs of the rows beside the page."""
    about = results.about
    parts = [
        INTRODUCTION.format(
            command=command(results),
            flames=FLAMES if flames else "",
            repetitions=about.get("repetitions", "?"),
            seconds=about.get("seconds per load", "?"),
            windows=about.get("steady windows", "?"),
            tolerance=about.get("steady to %", "?"),
            kafka=about.get("Kafka's settings", "its settings were not noted"),
        )
    ]
    parts.append(machine_table(results))
    peer = main_peer(results)
    found = standing(results, peer) if peer is not None else None
    if found is not None:
        parts.append(f"## Where we stand\n\nBeside {found.peer}: {found.words}.\n")
        parts.append(section(f"Behind {found.peer}", results, found.behind, found.peer))
        parts.append(section(f"Ahead of {found.peer}", results, found.ahead, found.peer))
    parts += [chapter_section(chapter, some, results) for chapter, some in beside_others(results, found)]
    return "\n".join(part for part in parts if part)


def command(results: Results) -> str:
    return "make bench-peers" if "Apache Kafka" in results.about else "make bench"


def machine_table(results: Results) -> str:
    lines = [f"| {name} | {value} |" for name, value in results.about.items()]
    return "\n".join(["| | |", "|---|---|", *lines, ""])


def section(title: str, results: Results, rows: list[RowStanding], peer: str) -> str:
    if not rows:
        return ""
    lines = [_line(["row", "", "ours", peer, "ours is better by"]), _line(["---", "---", "---:", "---:", "---:"])]
    for row in rows:
        for index, each in enumerate(row.numbers):
            cells = [_cell(each, OURS, results), _cell(each, peer, results), ratio_text(each, peer)]
            lines.append(_line(["" if index else row.title, _metric(each), *cells]))
    return "\n".join([f"## {title}", "", *lines, "", *_remarks(results, {row.title for row in rows})])


def chapter_section(chapter: str, measurements: list[Measurement], results: Results) -> str:
    """Rows that stand beside others than the one of the table: all that took part."""
    names = results.contenders(measurements)
    others = [name for name in names if name != OURS]
    head = ["row", "", *names, *(f"better than {name} by" for name in others)]
    lines = [_line(head), _line(["---"] * 2 + ["---:"] * (len(head) - 2))]
    for title, numbers in results.rows(measurements).items():
        for index, each in enumerate(numbers):
            cells = [_cell(each, name, results) for name in names] + [ratio_text(each, name) for name in others]
            lines.append(_line(["" if index else title, _metric(each), *cells]))
    return "\n".join([f"## {chapter}", "", *lines, "", *_remarks(results, {each.row for each in measurements})])


def _remarks(results: Results, titles: set[str]) -> list[str]:
    found = [f"- {each}" for each in remarks(results, titles)]
    return [*found, ""] if found else []


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _metric(each: Measurement) -> str:
    unit = each.metric.unit
    name = each.metric.name if unit in each.metric.name else f"{each.metric.name} ({unit})"
    return f"{name}, goal {goal(each)}" if each.metric.goal else name


def ratio_text(each: Measurement, peer: str) -> str:
    value = each.advantage(OURS, peer)
    if value is None:
        return ""
    text = f"**{value:.2f}**" if value >= 1 else f"{value:.2f}"
    return f"{text} ~" if each.overlaps(OURS, peer) else text


def _cell(each: Measurement, name: str, results: Results) -> str:
    middle, spread = each.median(name), each.spread(name)
    if middle is None or spread is None:
        return "cannot, see below" if (each.row, name) in results.reasons else ""
    if len(each.values[name]) == 1:
        return number(middle)
    return f"{number(middle)} ({number(spread[0])} to {number(spread[1])})"


def goal(each: Measurement) -> str:
    """The goal, and whether the median of this run meets it."""
    value = each.median(OURS)
    if value is None:
        return each.metric.goal
    sign, limit, *_ = each.metric.goal.split()
    met = value >= float(limit) if sign == ">=" else value < float(limit)
    return f"{each.metric.goal}: {'met' if met else 'missed'}"
