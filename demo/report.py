"""The page that shows what happened: one file, no script, nothing fetched from anywhere, light and dark."""

from __future__ import annotations

import re
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Final

from demo.charts import bars, heat, lines_over_time, stacked_areas
from demo.evidence import Evidence
from demo.orders import HOURS, OPENING, REGIONS
from moldau.spark.pipeline import Pipeline
from moldau.spark.pipeline.svg import draw_svg

_STYLE: Final = Path(__file__).with_name("report.css")


def write_report(path: Path, evidence: Evidence, pipeline: Pipeline) -> Path:
    path.write_text(_page(evidence, pipeline), encoding="utf-8")
    return path


def _page(evidence: Evidence, pipeline: Pipeline) -> str:
    truth = evidence.truth
    total = sum(sums[0] for sums in evidence.windows.values()) / 100
    killed = sum(1 for point in evidence.history if "killed" in point)
    verdict = "The stream equals the batch, to the cent" if evidence.holds else "The stream differs from the batch"
    crash = "was killed with -9 on the way, went on from its checkpoint, and " if killed else ""
    lead = (
        f"A day of orders reached a topic: some late, some twice, some broken. A declared pipeline on Spark {crash}"
        "wrote revenue to a topic, the orders to Parquet and what was bad to the dead letters, each exactly once."
    )
    tiles = [
        (f"{evidence.records:,}", "records in the topic"),
        (f"{sum(truth.orders.values()):,}", "good orders, each once"),
        (f"{truth.repeated:,}", "repetitions left out"),
        (f"{truth.late:,}", "more than a minute late"),
        (f"{len(truth.dead):,}", "dead letters"),
        (f"{total:,.0f}", "revenue in EUR"),
    ]
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orders to revenue</title><style>{_STYLE.read_text()}</style></head><body><main>
<h1>Orders to revenue</h1>
<p class="lead">{escape(lead)}</p>
<div class="verdict{"" if evidence.holds else " no"}">{"✓" if evidence.holds else "✗"} {verdict}</div>
<div class="tiles">{_tiles(tiles)}</div>
{_card("Revenue per region", "EUR per quarter of an hour, from the topic <code>revenue</code>", _revenue(evidence))}
{_card("The day at a glance", "Revenue per region and hour; a strong colour is a good hour", _heat(evidence))}
<div class="two">
{_card("Dead letters", "Why records were put aside", bars(dict(evidence.reasons), "dead letters by reason"))}
{_card("Who buys", "Revenue by segment, joined from the customers", _segments(evidence))}
</div>
{_card("The run", "Records sent, and records that every sink has behind it", _run(evidence))}
{_card("The proof", "What the pipeline wrote, held against a plain batch over the same topic", _proof(evidence))}
{_card("From the dead letters", "One example of each reason; the topic carries it in the headers", _letters(evidence))}
{_card("The pipeline", "As <code>moldau pipeline plan --svg</code> draws it", _graph(pipeline))}
<footer>Made by <code>make demo</code>. The pipeline is <code>demo/pipeline.yaml</code>, the batch
<code>demo/truth.py</code>.</footer>
</main></body></html>
"""


def _tiles(tiles: list[tuple[str, str]]) -> str:
    return "".join(f'<div class="card tile"><b>{value}</b><span>{words}</span></div>' for value, words in tiles)


def _segments(evidence: Evidence) -> str:
    euros = {name: cents / 100 for name, cents in evidence.segments.items()}
    return bars(euros, "revenue by segment", "{:,.0f} EUR")


def _card(title: str, words: str, content: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2><p>{words}</p>{content}</section>'


def _revenue(evidence: Evidence) -> str:
    labels = [f"{OPENING.hour + quarter // 4:02}:{quarter % 4 * 15:02}" for quarter in range(HOURS * 4)]
    series = {region: [evidence.windows.get((region, label), [0])[0] / 100 for label in labels] for region in REGIONS}
    return stacked_areas(series, labels, "revenue per region")


def _heat(evidence: Evidence) -> str:
    hours: dict[str, list[float]] = defaultdict(lambda: [0.0] * HOURS)
    for (region, start), sums in evidence.windows.items():
        hours[region][int(start[:2]) - OPENING.hour] += sums[0] / 100
    labels = [f"{OPENING.hour + hour:02}-{OPENING.hour + hour + 1:02} h" for hour in range(HOURS)]
    return heat({region: hours[region] for region in REGIONS}, labels, "revenue per region and hour", " EUR")


def _run(evidence: Evidence) -> str:
    start = evidence.history[0]["t"] if evidence.history else 0.0
    series = {
        "sent to the topic": [(point["t"] - start, point["sent"]) for point in evidence.history],
        "read by every sink": [(point["t"] - start, point["read"]) for point in evidence.history],
    }
    marks = [(point["t"] - start, "kill -9") for point in evidence.history if "killed" in point]
    return lines_over_time(series, marks, "records over time")


def _proof(evidence: Evidence) -> str:
    rows = "".join(
        f'<tr><td class="sign{"" if check.holds else " no"}">{"✓" if check.holds else "✗"}</td>'
        f"<td>{escape(check.claim)}</td><td>{escape(check.found)}</td></tr>"
        for check in evidence.checks
    )
    return f"<table><tr><th></th><th>Claim</th><th>Found</th></tr>{rows}</table>"


def _letters(evidence: Evidence) -> str:
    rows = "".join(
        f"<tr><td>{escape(reason)}</td><td><code>{escape(_printable(value))}</code></td></tr>"
        for reason, value in evidence.samples
    )
    return f"<table><tr><th>Reason</th><th>Record</th></tr>{rows}</table>"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _graph(pipeline: Pipeline) -> str:
    """The drawing without its page: the card is the background, and its rules must not reach the other charts."""
    drawing = re.sub(r'<rect class="page"[^>]*/>', "", draw_svg(pipeline))
    own = re.sub(r"<style>(.*?)</style>", lambda found: f"<style>.graph {{ {found[1]} }}</style>", drawing, flags=re.S)
    return f'<div class="graph">{own}</div>'
