"""Records that are kept and not acted upon: SCRAM credentials and delegation tokens.

In a cluster with Apache Kafka's nodes somebody else wrote them, and needs them. So they are part of every image, and
of every snapshot made from one: a node that dropped them would hand on a cluster without its logins. What they ask
for is done nowhere here, as on a broker of Kafka's that has no SASL listener. The log says of each kind, once, that it
is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from moldau.protocol.message import Message
from moldau.protocol.messages.delegation_token_record import DelegationTokenRecord
from moldau.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from moldau.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord

SCRAM_CREDENTIALS: Final = "SCRAM credentials"
DELEGATION_TOKENS: Final = "delegation tokens"


class CarriedKey(NamedTuple):
    """What a record is about: the next one with the same key takes its place, or takes it away."""

    kind: str
    identity: object


_KEYS: Final[Mapping[type[Message], Callable[[Any], CarriedKey]]] = {
    UserScramCredentialRecord: lambda record: CarriedKey(SCRAM_CREDENTIALS, (record.name, record.mechanism)),
    RemoveUserScramCredentialRecord: lambda record: CarriedKey(SCRAM_CREDENTIALS, (record.name, record.mechanism)),
    DelegationTokenRecord: lambda record: CarriedKey(DELEGATION_TOKENS, record.token_id),
    RemoveDelegationTokenRecord: lambda record: CarriedKey(DELEGATION_TOKENS, record.token_id),
}
_REMOVALS: Final = (RemoveUserScramCredentialRecord, RemoveDelegationTokenRecord)

CARRIED_TYPES: Final[tuple[type[Message], ...]] = tuple(_KEYS)


def carried(record: Message) -> tuple[CarriedKey, Message | None]:
    """What the record is about, and what is to be kept of it: None if it takes away."""
    is_removal = isinstance(record, _REMOVALS)
    return _KEYS[type(record)](record), None if is_removal else record
