"""Who leads when brokers come, go, die and lose what they had: stories, each with what it changed."""

from __future__ import annotations

import pytest
from transcript_kit import play

TRANSCRIPTS = {
    "eligible leaders": """
older cluster
broker 1
broker 2
broker 3
create orders 1,2,3 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    orders: min.insync.replicas=2
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
# Above the minimum whoever leaves is not eligible: more may be committed without it.
kill 3
    broker 3 fenced
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2,3
# Below it nothing is committed, so who leaves now has everything.
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2 of 1,2,3 eligible 1
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 2 isr - of 1,2,3 eligible 1,2 last led by 2
# The one that was never eligible is not taken, although it is alive.
start 3 clean
    broker 3 active
# The one that died last could lead at once; it lost what it had not written.
start 2 unclean
    broker 2 active
    orders-0 leader -1 epoch 2 isr - of 1,2,3 eligible 1 last led by 2
start 1 clean
    broker 1 active
    orders-0 leader 1 epoch 3 isr 1 of 1,2,3
isr orders-0 1,2
    orders-0 leader 1 epoch 3 isr 1,2 of 1,2,3
isr orders-0 1,2,3
    orders-0 leader 1 epoch 3 isr 1,2,3 of 1,2,3
""",
    "the last leader is waited for when nobody is eligible": """
older cluster
broker 1
broker 2
create orders 1,2 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
    orders: min.insync.replicas=2
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2 eligible 2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr - of 1,2 eligible 1,2 last led by 1
start 2 unclean
    broker 2 active
    orders-0 leader -1 epoch 1 isr - of 1,2 eligible 1 last led by 1
start 1 unclean
    broker 1 active
    orders-0 leader 1 epoch 2 isr 1 of 1,2 recovering
isr orders-0 1 recovered
    orders-0 leader 1 epoch 2 isr 1 of 1,2
isr orders-0 1,2
    orders-0 leader 1 epoch 2 isr 1,2 of 1,2
""",
    "another minimum makes nobody eligible who need not be complete": """
older cluster
broker 1
broker 2
broker 3
create orders 1,2,3 min.insync.replicas=3
    orders-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    orders: min.insync.replicas=3
create others 1,2,3 min.insync.replicas=3
    others-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    others: min.insync.replicas=3
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
kill 3
    broker 3 fenced
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2,3 eligible 3
    others-0 leader 1 epoch 0 isr 1,2 of 1,2,3 eligible 3
configure orders min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2,3
    orders: min.insync.replicas=2
configure 1 min.insync.replicas=2
    INVALID_CONFIG
configure cluster min.insync.replicas=
    INVALID_CONFIG
configure cluster min.insync.replicas=2
    others-0 leader 1 epoch 0 isr 1,2 of 1,2,3
    brokers: min.insync.replicas=2
# Where nobody is in sync those who are eligible stay, whatever the minimum is.
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2 of 1,2,3 eligible 1
    others-0 leader 2 epoch 1 isr 2 of 1,2,3 eligible 1
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 2 isr - of 1,2,3 eligible 1,2 last led by 2
    others-0 leader -1 epoch 2 isr - of 1,2,3 eligible 1,2 last led by 2
configure orders min.insync.replicas=1
    orders: min.insync.replicas=1
start 2 clean
    broker 2 active
    orders-0 leader 2 epoch 3 isr 2 of 1,2,3
    others-0 leader 2 epoch 3 isr 2 of 1,2,3 eligible 1
# One that is in sync is enough now: nobody else is eligible.
unregister 1
    others-0 leader 2 epoch 3 isr 2 of 1,2,3
""",
    "eligible leaders are switched off": """
older cluster
broker 1
broker 2
create orders 1,2 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
    orders: min.insync.replicas=2
create single 1
    single-0 leader 1 epoch 0 isr 1 of 1
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2 eligible 2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr - of 1,2 eligible 1,2 last led by 1
    single-0 leader -1 epoch 1 isr - of 1 eligible 1 last led by 1
feature eligible.leader.replicas.version 0
    INVALID_UPDATE_VERSION
feature eligible.leader.replicas.version 0 safe
start 1 clean
    broker 1 active
    orders-0 leader 1 epoch 2 isr 1 of 1,2
    single-0 leader 1 epoch 2 isr 1 of 1
isr orders-0 1,2
    INELIGIBLE_REPLICA
kill 2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 3 isr 1 of 1,2
    single-0 leader -1 epoch 3 isr 1 of 1
""",
    "unclean elections where they are asked for or allowed": """
older cluster
broker 1
broker 2
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr 1 of 1,2
start 2 clean
    broker 2 active
elect unclean orders-0
    orders-0 leader 2 epoch 2 isr 2 of 1,2 recovering
elect unclean orders-0
    ELECTION_NOT_NEEDED
isr orders-0 2 recovered
    orders-0 leader 2 epoch 2 isr 2 of 1,2
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 3 isr 2 of 1,2
start 1 clean
    broker 1 active
configure orders unclean.leader.election.enable=true
    orders-0 leader 1 epoch 4 isr 1 of 1,2 recovering
    orders: unclean.leader.election.enable=true
""",
    "unclean elections beside eligible leaders": """
older cluster
broker 1
broker 2
broker 3
create orders 1,2,3 min.insync.replicas=2 unclean.leader.election.enable=true
    orders-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    orders: min.insync.replicas=2
    orders: unclean.leader.election.enable=true
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
kill 3
    broker 3 fenced
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2,3
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2,3 eligible 2
# Somebody leads at once, and nobody has what was committed since: those who were eligible least of all.
fence 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr - of 1,2,3 eligible 1,2 last led by 1
start 3 clean
    broker 3 active
    orders-0 leader 3 epoch 2 isr 3 of 1,2,3 recovering
isr orders-0 3 recovered
    orders-0 leader 3 epoch 2 isr 3 of 1,2,3
""",
    "eligible leaders come when nobody leads": """
older cluster
broker 1
broker 2
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
create others 2,1
    others-0 leader 2 epoch 0 isr 2,1 of 2,1
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2
    others-0 leader 1 epoch 1 isr 1 of 2,1
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr 1 of 1,2
    others-0 leader -1 epoch 2 isr 1 of 2,1
unregister 1
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
# Of a broker that nobody knows any more it is not known what it has lost.
broker 1
    orders-0 leader 1 epoch 2 isr 1 of 1,2 recovering
    others-0 leader 1 epoch 3 isr 1 of 2,1 recovering
start 2 clean
    broker 2 active
isr orders-0 1 recovered
    orders-0 leader 1 epoch 2 isr 1 of 1,2
""",
    "a new cluster has eligible leaders": """
broker 1
broker 2
broker 3
create orders 1,2,3 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    orders: min.insync.replicas=2
create single 1
    single-0 leader 1 epoch 0 isr 1 of 1
configure 1 min.insync.replicas=2
    INVALID_CONFIG
configure cluster min.insync.replicas=
    INVALID_CONFIG
# Nobody who leaves above the minimum is eligible, everybody who leaves below it is.
kill 3
    broker 3 fenced
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2,3
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2,3 eligible 2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr - of 1,2,3 eligible 1,2 last led by 1
    single-0 leader -1 epoch 1 isr - of 1 eligible 1 last led by 1
start 3 clean
    broker 3 active
# It is the last leader of both, but only of one it is the last who could have everything.
start 1 unclean
    broker 1 active
    orders-0 leader -1 epoch 1 isr - of 1,2,3 eligible 2 last led by 1
    single-0 leader 1 epoch 2 isr 1 of 1 recovering
start 2 clean
    broker 2 active
    orders-0 leader 2 epoch 2 isr 2 of 1,2,3
isr orders-0 2,3,1
    orders-0 leader 2 epoch 2 isr 2,3,1 of 1,2,3
isr single-0 1 recovered
    single-0 leader 1 epoch 2 isr 1 of 1
# Switched off, the last in-sync replica stays in the set for ever, and a broker may have a number of its own.
feature eligible.leader.replicas.version 0
    INVALID_UPDATE_VERSION
feature eligible.leader.replicas.version 0 safe
configure 1 min.insync.replicas=2
    1: min.insync.replicas=2
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 2 isr 2,3 of 1,2,3
    single-0 leader -1 epoch 3 isr 1 of 1
kill 2
    broker 2 fenced
    orders-0 leader 3 epoch 3 isr 3 of 1,2,3
kill 3
    broker 3 fenced
    orders-0 leader -1 epoch 4 isr 3 of 1,2,3
start 1 clean
    broker 1 active
    single-0 leader 1 epoch 4 isr 1 of 1
# Switched on again, one number counts for all brokers.
feature eligible.leader.replicas.version 1
configure 1 min.insync.replicas=2
    INVALID_CONFIG
start 3 unclean
    broker 3 active
    orders-0 leader 3 epoch 5 isr 3 of 1,2,3 recovering
""",
    "unclean elections in a new cluster": """
broker 1
broker 2
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2
kill 1
    broker 1 fenced
    orders-0 leader -1 epoch 1 isr - of 1,2 eligible 1 last led by 1
start 2 clean
    broker 2 active
elect unclean orders-0
    orders-0 leader 2 epoch 2 isr 2 of 1,2 recovering
elect unclean orders-0
    ELECTION_NOT_NEEDED
isr orders-0 2 recovered
    orders-0 leader 2 epoch 2 isr 2 of 1,2
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 3 isr - of 1,2 eligible 2 last led by 2
start 1 clean
    broker 1 active
configure orders unclean.leader.election.enable=true
    orders-0 leader 1 epoch 4 isr 1 of 1,2 recovering
    orders: unclean.leader.election.enable=true
""",
    "leaders come home": """
broker 1
broker 2
broker 3
create orders 1,2,3 2,3,1
    orders-0 leader 1 epoch 0 isr 1,2,3 of 1,2,3
    orders-1 leader 2 epoch 0 isr 2,3,1 of 2,3,1
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2,3 of 1,2,3
    orders-1 leader 2 epoch 0 isr 2,3 of 2,3,1
start 1 clean
    broker 1 active
elect preferred orders-0
    PREFERRED_LEADER_NOT_AVAILABLE
isr orders-0 2,3,1
    orders-0 leader 2 epoch 1 isr 2,3,1 of 1,2,3
isr orders-1 2,3,1
    orders-1 leader 2 epoch 0 isr 2,3,1 of 2,3,1
wait 300
    orders-0 leader 1 epoch 2 isr 2,3,1 of 1,2,3
elect preferred orders-0
    ELECTION_NOT_NEEDED
elect preferred orders-7
    UNKNOWN_TOPIC_OR_PARTITION
""",
    "an orderly shutdown": """
broker 1
broker 2
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
shutdown 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2 of 1,2
start 1 clean
    broker 1 active
isr orders-0 2,1
    orders-0 leader 2 epoch 1 isr 2,1 of 1,2
unregister 1
    orders-0 leader 2 epoch 1 isr 2 of 1,2
""",
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_it_goes_as_told(name: str) -> None:
    assert play(TRANSCRIPTS[name]) == TRANSCRIPTS[name].strip()
