"""What the application has in its hands: records of the last poll, by the partition and broker they came from, and what
it has said of each. On the application's thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from moldau.client.share.acknowledgements import GAP, AcknowledgedRun, AcknowledgeType, offset_ranges, runs_of
from moldau.client.share.acquired import ShareRecord
from moldau.errors.named import IllegalStateError
from moldau.types import TopicPartition, Uuid

if TYPE_CHECKING:
    from moldau.client.share.node_session import NodeSession

_ACCEPT: Final = int(AcknowledgeType.ACCEPT)


class Acknowledgements:
    """Of one partition, told to one broker together. `offsets` are those of records; gaps stand in `runs` only."""

    __slots__ = ("attempts", "deadline", "error", "offsets", "over", "renewed", "runs", "session", "topic_id", "where")

    def __init__(
        self,
        session: NodeSession,
        where: TopicPartition,
        topic_id: Uuid,
        runs: list[AcknowledgedRun],
        offsets: Sequence[int],
        renewed: list[ShareRecord],
    ) -> None:
        self.session = session
        self.where = where
        self.topic_id = topic_id
        self.runs = runs
        self.offsets = offsets
        # Those whose lock is to begin anew: they are handed out again.
        self.renewed = renewed
        self.over = False
        self.error: BaseException | None = None
        self.attempts = 0
        self.deadline = 0.0


class HandedOut:
    """The records of one partition that one poll handed out."""

    def __init__(self, session: NodeSession, where: TopicPartition, topic_id: Uuid) -> None:
        self.session = session
        self.where = where
        self.topic_id = topic_id
        self.records: list[ShareRecord] = []
        self.gaps: list[tuple[int, int]] = []
        # What was said of records, by offset; and offsets without a record that may be spoken of.
        self.said: dict[int, AcknowledgeType] = {}
        self.unreadable: set[int] = set()
        self._offsets: set[int] | None = None

    def add(self, records: list[ShareRecord], gaps: list[tuple[int, int]]) -> None:
        self.records = self.records + records if self.records else records
        self.gaps += gaps
        self._offsets = None

    def add_unreadable(self, offset: int) -> None:
        """Somebody else may be able to read it; an application may say otherwise."""
        self.unreadable.add(offset)
        self.said[offset] = AcknowledgeType.RELEASE

    @property
    def offsets(self) -> set[int]:
        if self._offsets is None:
            self._offsets = {record.offset for record in self.records}
        return self._offsets

    def acknowledge(self, offset: int, kind: AcknowledgeType) -> None:
        if kind is AcknowledgeType.RENEW and offset in self.unreadable:
            raise IllegalStateError(
                f"{self.where} offset {offset} could not be read, so it cannot be handed out again."
            )
        self.said[offset] = kind

    @property
    def all_said(self) -> bool:
        return len(self.said) >= len(self.records) + len(self.unreadable)

    def take(self, *, accept: bool) -> Acknowledgements | None:
        """What is to be told; `accept` says it of all records of which nothing was said."""
        said, self.said = self.said, {}
        gaps, self.gaps = self.gaps, []
        unreadable, self.unreadable = self.unreadable, set()
        ranges = [(first, last, GAP) for first, last in gaps]
        if accept:
            left = [record.offset for record in self.records if record.offset not in said] if said else None
            accepted = [record.offset for record in self.records] if left is None else left
            ranges += [(first, last, _ACCEPT) for first, last in offset_ranges(accepted)]
            told = [record.offset for record in self.records]
            self.records = []
        else:
            told = [record.offset for record in self.records if record.offset in said]
        renewed = [record for record in self.records if said.get(record.offset) is AcknowledgeType.RENEW]
        if not accept and said:
            self.records = [record for record in self.records if record.offset not in said]
        self._offsets = None
        if not ranges and not said:
            return None
        offsets = [*told, *sorted(unreadable)]
        return Acknowledgements(self.session, self.where, self.topic_id, runs_of(said, ranges), offsets, renewed)


class InFlight:
    """All of them."""

    def __init__(self) -> None:
        self._handed: list[HandedOut] = []

    def __bool__(self) -> bool:
        return bool(self._handed)

    def of(self, session: NodeSession, where: TopicPartition, topic_id: Uuid) -> HandedOut:
        for handed in self._handed:
            if handed.where == where and handed.session is session:
                return handed
        handed = HandedOut(session, where, topic_id)
        self._handed.append(handed)
        return handed

    def acknowledge(self, where: TopicPartition, offset: int, kind: AcknowledgeType) -> None:
        for handed in self._handed:
            if handed.where == where and (offset in handed.offsets or offset in handed.unreadable):
                handed.acknowledge(offset, kind)
                return
        raise IllegalStateError(f"{where} offset {offset} is not among the records of the last poll.")

    @property
    def all_said(self) -> bool:
        return all(handed.all_said for handed in self._handed)

    def take(self, *, accept: bool) -> list[Acknowledgements]:
        taken = [told for handed in self._handed if (told := handed.take(accept=accept)) is not None]
        self._handed = [handed for handed in self._handed if handed.records]
        return taken
