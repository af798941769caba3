"""Partitions move between brokers and between disks: stories, each with what it changed."""

from __future__ import annotations

import pytest
from transcript_kit import play

TRANSCRIPTS = {
    "a move to other brokers": """
broker 1
broker 2
broker 3
broker 4
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 3,4
    orders-0 leader 1 epoch 0 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
reassignments
    orders-0 adds [3, 4] removes [1, 2]
isr orders-0 1,2,3
    orders-0 leader 1 epoch 0 isr 1,2,3 of 3,4,1,2 adding 3,4 removing 1,2
isr orders-0 1,2,3,4
    NEW_LEADER_ELECTED
    orders-0 leader 3 epoch 1 isr 3,4 of 3,4
reassignments
# Another order needs nobody to catch up.
reassign orders-0 4,3
    orders-0 leader 3 epoch 1 isr 3,4 of 4,3
reassign orders-0 4
    orders-0 leader 4 epoch 2 isr 4 of 4
reassign orders-0 4
cancel orders-0
    NO_REASSIGNMENT_IN_PROGRESS
""",
    "a leader that leaves is told": """
broker 1
broker 2
broker 3
broker 4
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 2,3
    orders-0 leader 1 epoch 0 isr 1,2 of 2,3,1 adding 3 removing 1
isr orders-0 1,2,3
    NEW_LEADER_ELECTED
    orders-0 leader 2 epoch 1 isr 2,3 of 2,3
""",
    "a move is taken back": """
older cluster
broker 1
broker 2
broker 3
broker 4
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 3,4
    orders-0 leader 1 epoch 0 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
isr orders-0 1,2,3
    orders-0 leader 1 epoch 0 isr 1,2,3 of 3,4,1,2 adding 3,4 removing 1,2
cancel orders-0
    orders-0 leader 1 epoch 1 isr 1,2 of 1,2
# Another target while one is on its way: what is no longer wanted leaves at once.
reassign orders-0 2,3
    orders-0 leader 1 epoch 1 isr 1,2 of 2,3,1 adding 3 removing 1
reassign orders-0 2,4
    orders-0 leader 1 epoch 2 isr 1,2 of 2,4,1 adding 4 removing 1
reassign orders-0 1,2
    orders-0 leader 1 epoch 3 isr 1,2 of 1,2
# Where only those that were added are in sync, to go back would lose records.
reassign orders-0 3,4
    orders-0 leader 1 epoch 3 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
isr orders-0 1,2,3
    orders-0 leader 1 epoch 3 isr 1,2,3 of 3,4,1,2 adding 3,4 removing 1,2
fence 2
    broker 2 fenced
    orders-0 leader 1 epoch 3 isr 1,3 of 3,4,1,2 adding 3,4 removing 1,2
kill 1
    broker 1 fenced
    orders-0 leader 3 epoch 4 isr 3 of 3,4,1,2 adding 3,4 removing 1,2
cancel orders-0
    INVALID_REPLICA_ASSIGNMENT
configure orders unclean.leader.election.enable=true
    orders: unclean.leader.election.enable=true
cancel orders-0
    orders-0 leader -1 epoch 5 isr 1 of 1,2 recovering
""",
    "a move is given another target": """
broker 1
broker 2
broker 3
broker 4
broker 5
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 2,3
    orders-0 leader 1 epoch 0 isr 1,2 of 2,3,1 adding 3 removing 1
# Who was being added and is still wanted is still being added.
reassign orders-0 3,4
    orders-0 leader 1 epoch 0 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
cancel orders-0
    orders-0 leader 1 epoch 1 isr 1,2 of 1,2
reassign orders-0 3,4
    orders-0 leader 1 epoch 1 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
isr orders-0 1,2,3
    orders-0 leader 1 epoch 1 isr 1,2,3 of 3,4,1,2 adding 3,4 removing 1,2
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 1 isr 1,3 of 3,4,1,2 adding 3,4 removing 1,2
kill 1
    broker 1 fenced
    orders-0 leader 3 epoch 2 isr 3 of 3,4,1,2 adding 3,4 removing 1,2
# Only the one that is no longer wanted is in sync: it stays until the others are.
reassign orders-0 4,5
    orders-0 leader 3 epoch 2 isr 3 of 4,5,1,2,3 adding 4,5 removing 1,2,3
isr orders-0 3,4,5
    NEW_LEADER_ELECTED
    orders-0 leader 4 epoch 3 isr 4,5 of 4,5
""",
    "moves that cannot be": """
broker 1
broker 2
broker 3 disks=2
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 1,9
    INVALID_REPLICA_ASSIGNMENT
reassign orders-0 1,1
    INVALID_REPLICA_ASSIGNMENT
reassign orders-1 1,2
    UNKNOWN_TOPIC_OR_PARTITION
reassign others-0 1,2
    UNKNOWN_TOPIC_OR_PARTITION
reassign orders-0 1,2,3 same-factor
    INVALID_REPLICATION_FACTOR
reassign orders-0 1,3 same-factor
    orders-0 leader 1 epoch 0 isr 1,2 of 1,3,2 adding 3 removing 2
reassign orders-0 2,1 same-factor
    orders-0 leader 1 epoch 1 isr 1,2 of 2,1
reassign orders-0 1 same-factor
    INVALID_REPLICATION_FACTOR
cordon 3 0
create fine 3
    fine-0 leader 3 epoch 0 isr 3 of 3
cordon 3 0 1
create cordoned 3
    INVALID_REPLICA_ASSIGNMENT
reassign orders-0 2,3
    INVALID_REPLICA_ASSIGNMENT
cordon 3
reassign orders-0 2,3
    orders-0 leader 1 epoch 1 isr 1,2 of 2,3,1 adding 3 removing 1
delete orders
reassignments
""",
    "a disk fails": """
broker 1 disks=2
broker 2 disks=2
create orders 1,2 2,1
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
    orders-1 leader 2 epoch 0 isr 2,1 of 2,1
place 1 orders-0 0
place 1 orders-1 1
place 2 orders-0 0
fail 1 0
    orders-0 leader 2 epoch 1 isr 2 of 1,2
# Out of sync it stays while its disk is gone.
isr orders-0 2,1
    INELIGIBLE_REPLICA
place 1 orders-0 1
isr orders-0 2,1
    orders-0 leader 2 epoch 1 isr 2,1 of 1,2
place 2 orders-0 lost
    orders-0 leader 1 epoch 2 isr 1 of 1,2
""",
    "a move is taken back when nobody is in sync": """
broker 1
broker 2
broker 3
broker 4
create orders 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
reassign orders-0 3,4
    orders-0 leader 1 epoch 0 isr 1,2 of 3,4,1,2 adding 3,4 removing 1,2
isr orders-0 1,2,3
    orders-0 leader 1 epoch 0 isr 1,2,3 of 3,4,1,2 adding 3,4 removing 1,2
fence 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1,3 of 3,4,1,2 adding 3,4 removing 1,2
kill 1
    broker 1 fenced
    orders-0 leader 3 epoch 1 isr 3 of 3,4,1,2 adding 3,4 removing 1,2
cancel orders-0
    INVALID_REPLICA_ASSIGNMENT
# The only one that has everything is not there, but it may come back.
kill 3
    broker 3 fenced
    orders-0 leader -1 epoch 2 isr - of 3,4,1,2 adding 3,4 removing 1,2 eligible 3 last led by 3
cancel orders-0
    INVALID_REPLICA_ASSIGNMENT
# With another target it stays among the replicas, too.
reassign orders-0 4,2
    orders-0 leader -1 epoch 2 isr - of 4,2,1,3 adding 4 removing 1,3 eligible 3 last led by 3
start 3 unclean
    broker 3 active
    orders-0 leader 3 epoch 3 isr 3 of 4,2,1,3 adding 4 removing 1,3 recovering
""",
    "a move is taken back at any price": """
broker 1
broker 2
broker 3
create orders 1 unclean.leader.election.enable=true
    orders-0 leader 1 epoch 0 isr 1 of 1
    orders: unclean.leader.election.enable=true
reassign orders-0 2,3
    orders-0 leader 1 epoch 0 isr 1 of 2,3,1 adding 2,3 removing 1
isr orders-0 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 2,3,1 adding 2,3 removing 1
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2 of 2,3,1 adding 2,3 removing 1
kill 2
    broker 2 fenced
    orders-0 leader 3 epoch 2 isr 3 of 2,3,1 adding 2,3 removing 1 recovering
cancel orders-0
    orders-0 leader -1 epoch 3 isr 1 of 1 recovering
start 1 unclean
    broker 1 active
    orders-0 leader 1 epoch 4 isr 1 of 1 recovering
""",
    "the last to lead goes with the move that is taken back": """
broker 1
broker 2
broker 3
create orders 1 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1 of 1
    orders: min.insync.replicas=2
reassign orders-0 2,3
    orders-0 leader 1 epoch 0 isr 1 of 2,3,1 adding 2,3 removing 1
isr orders-0 1,2
    orders-0 leader 1 epoch 0 isr 1,2 of 2,3,1 adding 2,3 removing 1
kill 1
    broker 1 fenced
    orders-0 leader 2 epoch 1 isr 2 of 2,3,1 adding 2,3 removing 1 eligible 1
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 2 isr - of 2,3,1 adding 2,3 removing 1 eligible 2,1 last led by 2
# Of those that stay one has everything: it is waited for in the place of the other, even if it has lost something.
cancel orders-0
    orders-0 leader -1 epoch 3 isr - of 1 eligible 1 last led by 1
start 1 unclean
    broker 1 active
    orders-0 leader 1 epoch 4 isr 1 of 1 recovering
""",
    "eligible leaders and failing disks": """
older cluster
broker 1 disks=2
broker 2 disks=2
create orders 1,2 min.insync.replicas=2
    orders-0 leader 1 epoch 0 isr 1,2 of 1,2
    orders: min.insync.replicas=2
feature eligible.leader.replicas.version 1
    brokers: min.insync.replicas=1
place 1 orders-0 0
place 2 orders-0 0
kill 2
    broker 2 fenced
    orders-0 leader 1 epoch 0 isr 1 of 1,2 eligible 2
# The disk of the last one fails: it keeps what it had as long as the disk may come back.
fail 1 0
    orders-0 leader -1 epoch 1 isr - of 1,2 eligible 1,2 last led by 1
start 2 clean
    broker 2 active
    orders-0 leader 2 epoch 2 isr 2 of 1,2 eligible 1
kill 2
    broker 2 fenced
    orders-0 leader -1 epoch 3 isr - of 1,2 eligible 1,2 last led by 2
# On another disk it begins with nothing.
place 1 orders-0 1
    orders-0 leader -1 epoch 3 isr - of 1,2 eligible 2 last led by 2
start 2 clean
    broker 2 active
    orders-0 leader 2 epoch 4 isr 2 of 1,2
""",
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_it_goes_as_told(name: str) -> None:
    assert play(TRANSCRIPTS[name]) == TRANSCRIPTS[name].strip()
