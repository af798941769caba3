"""A run as one HTML page: nothing is fetched from anywhere, charts are drawn inline.

Light or dark is the reader's choice, made by the browser.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

from bench.charts import Bar, Line, Point, line_chart, ratio_bars, value_bars
from bench.report import command, goal
from bench.results import Measurement, Results, number
from bench.rows import produce
from bench.standing import OURS, beside_others, main_peer, remarks, standing

STYLE = Path(__file__).with_name("page.css")
COLOURS = {
    "moldau": "--ours",
    "Kafka": "--kafka",
    "mock": "--mock",
    "moldau.aio": "--ours-2",
    "confluent-kafka": "--c1",
    "kafka-python": "--c2",
    "aiokafka": "--c3",
}


class Growth(NamedTuple):
    """One chart: rows whose titles match `pattern` are its points, the number in them is its x."""

    title: str
    pattern: str
    metric: str
    x_name: str


GROWTH = [
    Growth("Round trip p99, the same load on more partitions", r"^([\d,]+) partitions?,", "p99", "partitions"),
    Growth("CPU, the same load on more partitions", r"^([\d,]+) partitions?,", "CPU", "partitions"),
    Growth("Memory", r"^([\d,]+) partitions?,", "memory", "partitions"),
    Growth("Time to create a topic", r"^([\d,]+) partitions?,", "created", "partitions"),
    Growth("Requests per second", r"^1 record per request, ([\d,]+) conn", "requests/s", "connections"),
    Growth("Round trip p99", r"^1 record per request, ([\d,]+) conn", "p99", "connections"),
    Growth("Offset commits per second", r"^([\d,]+) groups? commit", "commits/s", "groups"),
    Growth("Offset commit p99", r"^([\d,]+) groups? commit", "p99", "groups"),
    Growth("Fetches per second, anywhere in the log", r"log of ([\d,]+) MB$", "fetches/s", "MB in the log"),
    Growth("Opening a log after a clean stop", r"^open a log of ([\d,]+) segments", "opened", "segments"),
]


def page(results: Results) -> str:
    body = [
        header(results),
        where_we_stand(results),
        tables(results),
        heat_maps(results),
        growth(results),
        clients(results),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Moldau beside its peers</title><style>{STYLE.read_text()}</style></head><body><main>"
        f"{''.join(body)}</main></body></html>\n"
    )


def header(results: Results) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in results.about.items())
    about = {name: escape(str(results.about.get(name, "?"))) for name in ("repetitions", "seconds per load")}
    return (
        "<header><h1>Moldau beside its peers</h1>"
        f"<p>Written by <code>{command(results)}</code>. Everybody is warmed until his rate is steady. A number is the "
        f"median of {about['repetitions']} loads of {about['seconds per load']} s; contenders take turns within a row, "
        "on one machine, clients and brokers together, the data in the page cache. Every repetition is in "
        "<a href='results.json'>results.json</a>, the same as a table in <a href='README.md'>README.md</a>.</p>"
        f"<dl class='facts'>{facts}</dl></header>"
    )


def where_we_stand(results: Results) -> str:
    """A bar for each row, as long as its worst number is good or bad; what was lost on top."""
    peer = main_peer(results)
    if peer is None:
        return ""
    found = standing(results, peer)
    bars = [bar for row in found.rows if (bar := ratio_bar(row.worst(peer), peer)) is not None]
    chart = ratio_bars(bars, f"ratios to {peer}")
    return (
        f"<section><h2>Where we stand</h2><p>Beside {escape(peer)}: {escape(found.words)}. Of each row the number in "
        "which we look worst: to the right of 1x ours is better all the same, to the left theirs; each step of the "
        f"axis doubles.</p><figure>{chart}</figure></section>"
    )


def ratio_bar(each: Measurement, peer: str) -> Bar | None:
    value = each.advantage(OURS, peer)
    ours, theirs = each.median(OURS), each.median(peer)
    if value is None or ours is None or theirs is None or value <= 0:
        return None
    note = f"{each.row}, {each.metric.name}: ours {number(ours)}, {peer} {number(theirs)} {each.metric.unit}"
    return Bar(shortened(each), value, "--good" if value >= 1 else "--bad", note)


def shortened(each: Measurement) -> str:
    """A name that fits beside a bar."""
    row = each.row
    for long, short in (
        (" batches of 100 B records, acks=all, none, 1 partition", ""),
        (" batches of 1 KB records, acks=all", ""),
        ("one-record requests/s", "req/s"),
        (" requests/s", " req/s"),
        ("Kafka's ", ""),
        (": sent until a waiting fetch has it", ""),
        (": a cluster is asked for, a client connects and has a record acknowledged", ""),
        (" on 10 connections", ""),
        (" with data after a clean stop", ""),
        ("worst wait beside hostile requests: the worst", "beside hostile requests: worst"),
    ):
        row = row.replace(long, short)
    text = f"{row}: {each.metric.name}"
    return text if len(text) <= 46 else text[:45] + "\N{HORIZONTAL ELLIPSIS}"


# ----------------------------------------------------------------------------------------------------- the product


def heat_maps(results: Results) -> str:
    peers = [name for name in results.contenders(results.of_chapter(produce.CHAPTER)) if name != OURS]
    maps = [heat_map(results, peer) for peer in peers]
    if not any(maps):
        return ""
    return (
        "<section><h2>Produce: every combination</h2><p>Our MB/s divided by theirs; green where ours is more. One "
        f"connection, five requests in flight.</p>{''.join(maps)}</section>"
    )


def heat_map(results: Results, peer: str) -> str:
    columns = [
        (acks, codec, parts) for acks in produce.ACKS for codec in produce.CODECS for parts in produce.PARTITIONS
    ]
    head = "".join(
        f"<th>{escape(acks)}<br>{escape(codec)}<br>{escape(parts.split()[0])} p.</th>" for acks, codec, parts in columns
    )
    lines = []
    known = 0
    for size in produce.SIZES:
        for record in produce.RECORDS:
            cells = []
            for acks, codec, parts in columns:
                found = results.get(f"produce {size} batches of {record} records, {acks}, {codec}, {parts}", "MB/s")
                value = found.ratio(OURS, peer) if found is not None else None
                known += value is not None
                cells.append(heat_cell(found, value, peer))
            lines.append(f"<tr><th>{size}, {record}</th>{''.join(cells)}</tr>")
    if known < len(lines):  # a few of them stand in the table anyway
        return ""
    return _scroll(
        f"<table class='heat'><caption>ours / {escape(peer)}</caption><tr><th></th>{head}</tr>{''.join(lines)}</table>"
    )


def heat_cell(found: Measurement | None, value: float | None, peer: str) -> str:
    if found is None or value is None or value <= 0:
        return "<td></td>"
    strength = min(1.0, abs(math.log2(value)) / 2.5) * 65 + 8
    colour = "--good" if value >= 1 else "--bad"
    note = f"{found.row}: ours {number(found.median(OURS) or 0)}, {peer} {number(found.median(peer) or 0)} MB/s"
    style = f"background:color-mix(in srgb, var({colour}) {strength:.0f}%, var(--paper))"
    return f'<td style="{style}" title="{escape(note)}">{value:.2f}</td>'


# ---------------------------------------------------------------------------------------------------------- growth


def growth(results: Results) -> str:
    figures = [figure for each in GROWTH if (figure := growth_figure(results, each))]
    if not figures:
        return ""
    return (
        "<section><h2>How cost grows</h2><p>The load stays the same from point to point. Both axes grow by factors; "
        f"the thin bars are the spread.</p><div class='grid-of'>{''.join(figures)}</div></section>"
    )


def growth_figure(results: Results, what: Growth) -> str:
    lines = growth_lines(results, what)
    if not any(len(line.points) > 2 for line in lines):  # two points are no line, and stand in the table anyway
        return ""
    found = [each for each in results.measurements if re.search(what.pattern, each.row)]
    unit = next(each.metric.unit for each in found if each.metric.name == what.metric)
    chart = line_chart(lines, what.title, what.x_name, unit)
    legend = _legend((line.name, line.colour) for line in lines if line.points)
    return (
        f"<figure><figcaption>{escape(what.title)} <span>({escape(unit)})</span></figcaption>{chart}{legend}</figure>"
    )


def growth_lines(results: Results, what: Growth) -> list[Line]:
    points: dict[str, list[Point]] = {}
    for each in results.measurements:
        match = re.search(what.pattern, each.row)
        if match is None or each.metric.name != what.metric:
            continue
        for name in each.values:
            middle, spread = each.median(name), each.spread(name)
            if middle is not None and spread is not None:
                points.setdefault(name, []).append(Point(float(match[1].replace(",", "")), middle, *spread))
    return [Line(name, _colour(name), sorted(found)) for name, found in points.items()]


# --------------------------------------------------------------------------------------------------------- clients


def clients(results: Results) -> str:
    found = [each for each in results.of_chapter("Python clients") if each.metric.name == "records/s"]
    figures = []
    for each in found:
        bars = [
            Bar(name, middle, _colour(name), f"{number(middle)} records/s")
            for name in each.values
            if (middle := each.median(name)) is not None
        ]
        chart = value_bars(bars, each.row)
        figures.append(f"<figure><figcaption>{escape(each.row)} <span>(records/s)</span></figcaption>{chart}</figure>")
    if not figures:
        return ""
    return (
        "<section><h2>Python clients</h2><p>On one node of ours, each in a process of its own. CPU and memory are in "
        f"the tables.</p><div class='grid-of'>{''.join(figures)}</div></section>"
    )


# ---------------------------------------------------------------------------------------------------------- tables


def tables(results: Results) -> str:
    """What was lost and what was won beside the main peer, then whatever stands beside others."""
    parts = [
        "<section><h2>The table</h2><p>Least and most in brackets. Above 1 ours is better; ~ where the repetitions of "
        "both overlap.</p>"
    ]
    peer = main_peer(results)
    found = standing(results, peer) if peer is not None else None
    if found is not None:
        for title, rows in ((f"Behind {found.peer}", found.behind), (f"Ahead of {found.peer}", found.ahead)):
            if rows:
                table = number_table(results, [each for row in rows for each in row.numbers], [OURS, found.peer])
                parts.append(f"<h3>{escape(title)}</h3>{_scroll(table)}{_notes(results, {row.title for row in rows})}")
    for chapter, some in beside_others(results, found):
        table = number_table(results, some, results.contenders(some)) + _notes(results, {each.row for each in some})
        parts.append(f"<details><summary>{escape(chapter)}</summary>{_scroll(table)}</details>")
    return "".join([*parts, "</section>"])


def number_table(results: Results, measurements: list[Measurement], names: list[str]) -> str:
    others = [name for name in names if name != OURS]
    head = "".join(f"<th>{escape(text)}</th>" for text in ("", "", *names, *(f"ours : {name}" for name in others)))
    lines, before = [], ""
    for each in measurements:
        title = each.row if each.row != before else ""
        before = each.row
        ratios = "".join(_ratio(each, name) for name in others)
        cells = "".join(f"<td>{_cell(each, name, results)}</td>" for name in names)
        text = f"{each.metric.name}, goal {goal(each)}" if each.metric.goal else each.metric.name
        unit = "" if each.metric.unit in each.metric.name else f" <small>{escape(each.metric.unit)}</small>"
        start = " class='first'" if title else ""
        lines.append(f"<tr{start}><th>{escape(title)}</th><th>{escape(text)}{unit}</th>{cells}{ratios}</tr>")
    return f"<table class='all'><tr>{head}</tr>{''.join(lines)}</table>"


def _notes(results: Results, titles: set[str]) -> str:
    found = "".join(f"<li>{escape(each)}</li>" for each in remarks(results, titles))
    return f"<ul>{found}</ul>" if found else ""


def _ratio(each: Measurement, peer: str) -> str:
    value = each.advantage(OURS, peer)
    if value is None:
        return "<td></td>"
    unsure = " ~" if each.overlaps(OURS, peer) else ""
    return f"<td class='{'good' if value >= 1 else 'bad'}'>{value:.2f}{unsure}</td>"


def _cell(each: Measurement, name: str, results: Results) -> str:
    middle, spread = each.median(name), each.spread(name)
    if middle is None or spread is None:
        return f"<em>{escape(results.reasons.get((each.row, name), ''))}</em>"
    if len(each.values[name]) == 1:
        return number(middle)
    return f"{number(middle)} <small>({number(spread[0])} to {number(spread[1])})</small>"


def _colour(name: str) -> str:
    return COLOURS.get(name, "--c4" if "park" in name else "--mock")


def _legend(names: Iterable[tuple[str, str]]) -> str:
    marks = "".join(f"<span><i style='background:var({colour})'></i>{escape(name)}</span>" for name, colour in names)
    return f"<p class='legend'>{marks}</p>"


def _scroll(content: str) -> str:
    return f"<div class='scroll'>{content}</div>"
