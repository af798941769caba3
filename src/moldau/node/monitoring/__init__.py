"""What whoever operates the node can see of it: metrics under the names that Kafka's have, and whether it is ready.

Each file gathers one kind of families, from what the rooms below know of themselves: nothing here counts anything.
"""
