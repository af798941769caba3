"""A node: what `process.roles` makes it, put together, started and stopped in the right order.

`node` holds what every node has and the order of things, `broker` what a broker has besides, `quorum` how the quorum of
controllers is reached, `identity` to which cluster the node belongs, `formatting` how its
directories are prepared.
"""

from __future__ import annotations

from moldau.node.identity import NodeError as NodeError
from moldau.node.node import Addresses as Addresses
from moldau.node.node import Node as Node
