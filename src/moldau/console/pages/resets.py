"""Moving groups and share groups: first a plan that says for each partition what it means, then exactly that."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.groups import commit_positions, committed_positions
from moldau.client.admin.resets import moved_to, shifted
from moldau.client.admin.share_groups import alter_share_positions, share_positions
from moldau.client.admin.topics import describe_topics
from moldau.console.pages.groups import known_group
from moldau.console.pages.topic_changes import whole_number
from moldau.console.visits import Refused, Visit, address
from moldau.errors import KafkaError, MoldauError
from moldau.moments import parse_moment
from moldau.quantities import counted
from moldau.types import TopicPartition

_CHANGE_SECONDS: Final = 15.0
_SHOWN: Final = 500


class Step(NamedTuple):
    topic: str
    partition: int
    before: int | None
    after: int

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def meaning(self) -> str:
        if self.before is None:
            return "begins here"
        moved = self.after - self.before
        if not moved:
            return "stays"
        return f"{counted(-moved, 'record')} again" if moved < 0 else f"{counted(moved, 'record')} left out"


def reset(visit: Visit) -> Response:
    share = visit.query("kind") == "share"
    found = known_group(visit, "share" if share else "")
    name = found.listing.group_id
    place = address("/share-group" if share else "/group", name=name)
    committed = _positions(visit, name, share=share)
    plan: list[Step] = []
    problem = ""
    if visit.posted:
        try:
            if visit.form("step") == "apply":
                plan = _read_plan(visit.form("plan"))
                _apply(visit, name, plan, committed, share=share)
                return visit.done(place, f"{name} was moved in {counted(len(plan), 'partition')}.")
            plan = _plan(visit, committed, share=share)
        except (ValueError, MoldauError) as error:
            problem = str(error)
            plan = []
    return visit.page(
        "group_reset.html",
        f"Move {name}",
        409 if problem else 200,
        name=name,
        share=share,
        place=place,
        plan=plan[:_SHOWN],
        more=max(0, len(plan) - _SHOWN),
        written=json.dumps(plan),
        again=sum(max(0, (step.before or 0) - step.after) for step in plan if step.before is not None),
        skipped=sum(max(0, step.after - (step.before or 0)) for step in plan if step.before is not None),
        moving=sum(step.before != step.after for step in plan),
        topics=sorted({where.topic for where in committed}),
        members=found.listing.state not in ("Empty", "Dead"),
        given=visit.fields,
        problem=problem,
    )


def _positions(visit: Visit, name: str, *, share: bool) -> dict[TopicPartition, int | None]:
    """None where a share group reads and stands nowhere yet: Apache Kafka writes that down with the first record that
    is acknowledged."""
    if share:
        found = visit.links.ask(share_positions(name))
        known = {where: each for where, each in found.items() if not isinstance(each, KafkaError)}
        return {where: each.start if each.start >= 0 else None for where, each in known.items()}
    return {w: each.offset for w, each in visit.links.ask(committed_positions(name)).items() if each.offset >= 0}


def _plan(visit: Visit, committed: dict[TopicPartition, int | None], *, share: bool) -> list[Step]:
    topic = visit.form("topic").strip()
    if topic:
        (view,) = visit.links.ask(describe_topics([topic]))
        chosen = _indexes(visit.form("partitions"), view.name, frozenset(view.partitions))
        partitions = [TopicPartition(topic, index) for index in chosen]
    else:
        partitions = sorted(committed)
    if not partitions:
        raise Refused("Nothing is committed yet: say which topic.")
    if visit.form("how") == "shift":
        by = whole_number(visit.form("by"), "By how many records to move", None)
        known = {where: offset for where, offset in committed.items() if offset is not None}
        wanted = visit.links.ask(shifted(partitions, known, by))
    else:
        moment = parse_moment(visit.form("to").strip() or "?")
        wanted = visit.links.ask(moved_to(partitions, moment))
    return [Step(*where, committed.get(where), offset) for where, offset in sorted(wanted.items())]


def _indexes(text: str, topic: str, known: frozenset[int]) -> list[int]:
    if not text.strip():
        return sorted(known)
    chosen = {whole_number(word, "A partition", None) for word in text.split(",")}
    if missing := sorted(chosen - known):
        raise Refused(f"{topic} has no partition {missing[0]}.")
    return sorted(chosen)


def _read_plan(text: str) -> list[Step]:
    """What the page before showed; ValueError for anything else."""
    plan = []
    try:
        for topic, partition, before, after in json.loads(text):
            if not (isinstance(topic, str) and isinstance(partition, int) and isinstance(after, int) and after >= 0):
                raise ValueError
            plan.append(Step(topic, partition, before if isinstance(before, int) else None, after))
    except (ValueError, TypeError, RecursionError):
        raise ValueError("This is no plan; begin again.") from None
    return plan


def _apply(
    visit: Visit, name: str, plan: list[Step], committed: dict[TopicPartition, int | None], *, share: bool
) -> None:
    moved = [step for step in plan if committed.get(step.where) != step.before]
    if moved:
        raise Refused(f"{name} has moved meanwhile, in {moved[0].where} for one; look at the plan again.", 409)
    wanted = {step.where: step.after for step in plan}
    if share:
        outcomes = visit.links.ask(alter_share_positions(name, wanted), _CHANGE_SECONDS)
    else:
        outcomes = visit.links.ask(commit_positions(name, wanted), _CHANGE_SECONDS)
    failed = [error for error in outcomes.values() if error is not None]
    if failed:
        raise failed[0]
