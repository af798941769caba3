"""A run as a Markdown page: ratios first, then the medians with their spread, then what was not measured and why."""

from __future__ import annotations

from bench.results import Measurement, Results, losses, number

OURS = "moldau"

INTRODUCTION = """# Measured beside the peers

Written by `{command}`; the numbers of every repetition are in [results.json](results.json), the charts in
[index.html](index.html).

Each cell is the median of {repetitions} repetitions with the least and the most in brackets. Contenders take turns
within each row, so that all see the same machine. A ratio is our median divided by theirs; **bold** where ours is the
better one. One node on each side, clients and brokers on the same machine, all data in the page cache, nothing forced
to disk while it is produced: Kafka's default, and ours.

- **Kafka** runs as its own scripts start it: one process for broker and controller, 1 GB of heap, G1.
- **mock** is librdkafka's mock cluster: C, memory only, it validates nothing and keeps 5 MB of a partition. A ceiling,
  not a broker.
"""


def markdown(results: Results) -> str:
    parts = [INTRODUCTION.format(command=command(results), repetitions=results.about.get("repetitions", "?"))]
    parts.append(machine_table(results))
    parts.append(standing(results))
    parts += [
        f"## {chapter}\n\n{chapter_table(results, results.of_chapter(chapter))}" for chapter in results.chapters()
    ]
    return "\n".join(part for part in parts if part)


def command(results: Results) -> str:
    return "make bench-peers" if "Apache Kafka" in results.about else "make bench"


def machine_table(results: Results) -> str:
    lines = [f"| {name} | {value} |" for name, value in results.about.items()]
    return "\n".join(["| | |", "|---|---|", *lines, ""])


def standing(results: Results, most: int = 12) -> str:
    """Won and lost against each peer, and the largest losses by name."""
    lines = ["## Where we stand", ""]
    for peer in results.contenders(results.measurements):
        if peer.startswith(OURS):
            continue
        found = [each.advantage(OURS, peer) for each in results.measurements]
        known = [value for value in found if value is not None]
        if not known:
            continue
        better = sum(1 for value in known if value >= 1)
        lines.append(f"- Beside **{peer}**: better in {better} of {len(known)} measurements.")
    peers = [peer for peer in ("Kafka", "mock") if any(each.values.get(peer) for each in results.measurements)]
    if peers:
        behind = losses(results, OURS, peers[0])[:most]
        lines += ["", f"The largest losses against {peers[0]} (1.00 is equal):" if behind else "", ""]
        lines += [f"- {value:.2f} x: {each.row}, {each.metric.name}" for value, each in behind]
    return "\n".join([*lines, ""])


def chapter_table(results: Results, measurements: list[Measurement]) -> str:
    """One line per metric: the ratios, then who measured what."""
    names = results.contenders(measurements)
    others = [name for name in names if name != OURS]
    head = ["row", "metric", *(f"ours / {name}" for name in others), *names]
    lines = [_line(head), _line(["---"] * 2 + ["---:"] * (len(head) - 2))]
    before = ""
    for each in measurements:
        ratios = [_ratio(each, name) for name in others]
        cells = [_cell(each, name, results) for name in names]
        lines.append(_line([each.row if each.row != before else "", _metric(each), *ratios, *cells]))
        before = each.row
    reasons = _reasons(results, measurements)
    return "\n".join([*lines, "", *reasons, ""] if reasons else [*lines, ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _metric(each: Measurement) -> str:
    unit = each.metric.unit
    name = each.metric.name if unit in each.metric.name else f"{each.metric.name} ({unit})"
    return f"{name}, goal {goal(each)}" if each.metric.goal else name


def _ratio(each: Measurement, peer: str) -> str:
    value, good = each.ratio(OURS, peer), each.advantage(OURS, peer)
    if value is None or good is None:
        return ""
    return f"**{value:.2f}**" if good >= 1 else f"{value:.2f}"


def _cell(each: Measurement, name: str, results: Results) -> str:
    middle, spread = each.median(name), each.spread(name)
    if middle is None or spread is None:
        return "cannot, see below" if (each.row, name) in results.reasons else ""
    if len(each.values[name]) == 1:
        return number(middle)
    return f"{number(middle)} ({number(spread[0])} to {number(spread[1])})"


def _reasons(results: Results, measurements: list[Measurement]) -> list[str]:
    """Each reason once, with the rows it holds for."""
    rows = list(dict.fromkeys(each.row for each in measurements))
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for (title, name), why in results.reasons.items():
            if title == row:
                by_reason.setdefault((name, why), []).append(row)
    return [f"- {name} {why} ({'; '.join(found)})" for (name, why), found in by_reason.items()]


def goal(each: Measurement) -> str:
    """The goal, and whether the median of this run meets it."""
    value = each.median(OURS)
    if value is None:
        return each.metric.goal
    sign, limit, *_ = each.metric.goal.split()
    met = value >= float(limit) if sign == ">=" else value < float(limit)
    return f"{each.metric.goal}: {'met' if met else 'missed'}"
