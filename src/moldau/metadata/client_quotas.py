"""The quotas of the cluster: in images, in the difference between two, and as records."""

from __future__ import annotations

from collections.abc import Iterator

from moldau.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from moldau.security.quota import Entity, Quotas


class ClientQuotasDelta:
    """What records do to the quotas of `base`; of a snapshot, which says all there is, to none."""

    def __init__(self, base: Quotas, *, is_snapshot: bool = False) -> None:
        self.base = base
        self._start: Quotas = {} if is_snapshot else base
        self._changed: dict[Entity, dict[str, float]] = {}

    @classmethod
    def whole(cls, quotas: Quotas) -> ClientQuotasDelta:
        """From nothing to `quotas`."""
        delta = cls({})
        delta._start = quotas
        return delta

    @property
    def is_changed(self) -> bool:
        return bool(self._changed) or self._start is not self.base

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = entity_in(record)
        values = self._changed.setdefault(entity, dict(self._start.get(entity, {})))
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value

    def apply(self) -> Quotas:
        if not self._changed:
            return self._start
        # Only what has changed is looked at: there may be quotas of very many.
        quotas = dict(self._start)
        for entity, values in self._changed.items():
            if values:
                quotas[entity] = values
            else:
                quotas.pop(entity, None)
        return quotas


def entity_in(record: ClientQuotaRecord) -> Entity:
    return frozenset((part.entity_type, part.entity_name) for part in record.entity)


def quota_record(entity: Entity, key: str, value: float | None) -> ClientQuotaRecord:
    """`value` is None for one that is removed."""
    parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(entity, key=lambda part: part[0])]
    return ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None)


def records_of(quotas: Quotas) -> Iterator[ClientQuotaRecord]:
    for entity, values in quotas.items():
        for key, value in values.items():
            yield quota_record(entity, key, value)
