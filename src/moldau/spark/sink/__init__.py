"""The sink: data frames, batch or streaming, into topics.

`columns` turns Arrow arrays into batches of records, `delivery` gets those to the partitions, `writer` is what Spark
sees. Exactly once is the work of `ledger` (what the broker remembers of a query), `content` (what makes a batch this
one and no other), `transaction` (a task's part), `lifetime` (how long a transaction may be open, and whether it is) and
`decision` (the driver's part); docs/internals/spark-exactly-once.md says how they fit together.
"""
