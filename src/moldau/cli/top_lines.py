"""What `moldau top` says, as lines: one for each thing in a pipe, tables that fit into a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from moldau.cli.style import Style, printable
from moldau.quantities import counted, format_size, format_time

if TYPE_CHECKING:
    from moldau.diagnosis.traffic import BrokerRate, GroupRate, PlaceRate, Traffic

_BROKERS: Final = ("BROKER", "ADDRESS", "LEADS", "RECORDS/S", "IDLE", "LONGEST TURN", "MEMORY", "CONNECTIONS")
_PLACES: Final = ("RECORDS/S", "BYTES/S", "READ/S")
_GROUPS: Final = ("GROUP", "STATE", "LAG", "READ/S")
# Below the brokers there is room for at least so many of each kind, or that kind is left out.
_LEAST_ROWS: Final = 2


def lines(traffic: Traffic, most: int) -> Iterator[str]:
    """For pipes: what it is, its name, then names and values."""
    yield f"{format_time(round(traffic.at * 1000))} {_summary(traffic)}"
    for broker in traffic.brokers:
        values = zip(_BROKERS[1:], _broker(broker)[1:], strict=True)
        yield f"broker {broker.id} " + _named(values)
    for kind, places in (("topic", traffic.topics), ("partition", traffic.partitions)):
        for place in places[:most]:
            yield f"{kind} {place.name} " + _named(zip(_PLACES, _rates(place), strict=True))
    for group in traffic.groups[:most]:
        yield f"group {printable(group.name)} " + _named(zip(_GROUPS[1:], _group(group)[1:], strict=True))
    for subject, reason in traffic.unknown.items():
        yield f"not seen: {subject} ({reason})"


def screen(traffic: Traffic, width: int, height: int, style: Style) -> list[str]:
    """For a terminal: no more lines than it has, and none longer."""
    title = f"moldau top  cluster {traffic.cluster_id or '-'}  {_clock(traffic)}  over {traffic.seconds:.1f} s  q quits"
    shown = [style.paint(_cut(title, width), "bold"), _cut(_summary(traffic), width)]
    shown += [style.paint(_cut(f"not seen: {name} ({why})", width), "yellow") for name, why in traffic.unknown.items()]
    rows = [_broker(each) for each in traffic.brokers]
    shown += ["", *_table(_BROKERS, rows[: max(1, (height - len(shown) - 2) // 3)], width, style)]
    topics = [(each.name, str(each.partitions), *_rates(each)) for each in traffic.topics]
    partitions = [(each.name, *_rates(each)) for each in traffic.partitions]
    # What matters most comes first, and alone where there is room for no more.
    sections: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = [
        (("TOPIC", "PARTITIONS", *_PLACES), topics),
        (_GROUPS, [_group(each) for each in traffic.groups]),
        (("PARTITION", *_PLACES), partitions),
    ]
    filled = [section for section in sections if section[1]]
    filled = filled[: max(1, (height - len(shown)) // (2 + _LEAST_ROWS))]
    for index, (head, places) in enumerate(filled):
        room = (height - len(shown)) // (len(filled) - index) - 2
        if room > 0:
            shown += ["", *_table(head, places[:room], width, style)]
    return shown[:height]


def _summary(traffic: Traffic) -> str:
    fenced = sum(each.fenced for each in traffic.brokers)
    away = f", {fenced} fenced" if fenced else ""
    return (
        f"{counted(len(traffic.brokers), 'broker')}{away}, {counted(len(traffic.topics), 'topic')}, "
        f"{counted(len(traffic.groups), 'group')}: in {traffic.records_in:,.0f} records/s "
        f"({format_size(round(traffic.bytes_in))}/s), read {traffic.records_out:,.0f} records/s, lag {traffic.lag:,}"
    )


def _clock(traffic: Traffic) -> str:
    return format_time(round(traffic.at * 1000))[11:19] + "Z"


def _broker(each: BrokerRate) -> tuple[str, ...]:
    state = " (fenced)" if each.fenced else ""
    return (
        str(each.id),
        each.address + state,
        str(each.leads),
        f"{each.records_in:,.0f}",
        "-" if each.idle is None else f"{each.idle:.0%}",
        "-" if each.longest_turn is None else f"{each.longest_turn * 1000:.1f} ms",
        "-" if each.memory is None else format_size(each.memory),
        "-" if each.connections is None else str(each.connections),
    )


def _rates(each: PlaceRate) -> tuple[str, str, str]:
    return (
        f"{each.records_in:,.0f}",
        "-" if each.bytes_in is None else f"{format_size(round(each.bytes_in))}",
        "-" if each.records_out is None else f"{each.records_out:,.0f}",
    )


def _group(each: GroupRate) -> tuple[str, ...]:
    lag = "-" if each.lag is None else f"{each.lag:,}"
    return printable(each.name), each.state, lag, f"{each.records_out:,.0f}"


def _named(values: Iterator[tuple[str, str]]) -> str:
    return " ".join(f"{name.lower().replace(' ', '_')}={value.replace(' ', '')}" for name, value in values)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, style: Style) -> list[str]:
    """Names to the left, whatever is counted to the right."""
    columns = [max(len(row[index]) for row in [head, *rows]) for index in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(size) if index == 0 or head[index] in ("ADDRESS", "STATE") else text.rjust(size)
            for index, (text, size) in enumerate(zip(row, columns, strict=True))
        ]
        return _cut("  ".join(cells).rstrip(), width)

    return [style.paint(line(head), "dim"), *(line(row) for row in rows)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
