"""What an application hangs into the consumer from outside: it sees records before they are handed out, and offsets
after they were committed.

    class Counting:
        def on_consume(self, records):      # {TopicPartition: [ConsumerRecord, ...]}, returns what is handed out
            return records

        def on_commit(self, offsets):       # {TopicPartition: OffsetAndMetadata}
            ...

        def close(self):
            ...

Each may be left out. They run on the application's thread, one after the other in the order given; one that fails is
logged and otherwise as if it were not there, because whoever reads the records did not write it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterable, Mapping
from inspect import isawaitable
from typing import Any, Final

from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.structs import OffsetAndMetadata
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.client")

Records = dict[TopicPartition, list[ConsumerRecord]]

_NONE: Final[Mapping[TopicPartition, int]] = {}


class Interceptors:
    def __init__(self, given: Iterable[Any]) -> None:
        self.each = tuple(given)

    def on_consume(self, records: Records, again: Mapping[TopicPartition, int] = _NONE) -> Records:
        """Positions move on by what was fetched, whatever is left of it. `again` counts those at the beginning of a
        partition that were seen here before."""
        if not self.each or not records:
            return records
        seen = {where: records[where][:count] for where, count in again.items()}
        new = {where: share[again.get(where, 0) :] for where, share in records.items()}
        shown = self._show({where: share for where, share in new.items() if share})
        both = {where: [*seen.get(where, ()), *shown.get(where, ())] for where in {**records, **shown}}
        return {where: share for where, share in both.items() if share}

    def _show(self, records: Records) -> Records:
        for interceptor in self.each:
            if not records:
                break
            changed = self._call(interceptor, "on_consume", records)
            if changed is not None:
                records = {where: list(share) for where, share in changed.items() if share}
        return records

    async def on_consume_awaited(self, records: Records) -> Records:
        """The same where they may be coroutines."""
        for interceptor in self.each:
            if not records:
                break
            changed = self._call(interceptor, "on_consume", records)
            if isawaitable(changed):
                changed = await _logged(interceptor, changed)
            if changed is not None:
                records = {where: list(share) for where, share in changed.items() if share}
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for interceptor in self.each:
            self._call(interceptor, "on_commit", dict(offsets))

    def close(self) -> None:
        for interceptor in self.each:
            self._call(interceptor, "close")

    @staticmethod
    def _call(interceptor: Any, method: str, *arguments: Any) -> Any:
        function = getattr(interceptor, method, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except Exception:
            logger.exception("%s of interceptor %s failed", method, type(interceptor).__name__)
            return None


async def _logged(interceptor: Any, said: Awaitable[Any]) -> Any:
    try:
        return await said
    except Exception:
        logger.exception("on_consume of interceptor %s failed", type(interceptor).__name__)
        return None
