"""What clients push of their own metrics (KIP-714): who is to push what, and what came of it.

`subscriptions` says which metrics of which clients are wanted, `client_instances` who may push and when, `otlp` reads
what they push, `pushed_series` keeps it for whoever looks at the node's metrics; `client_metrics` puts this together.
Nothing of it outlives the node: a client that is not known begins anew.
"""
