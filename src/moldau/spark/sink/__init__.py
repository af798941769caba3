"""The sink: data frames, batch or streaming, into topics.

`columns` turns Arrow arrays into batches of records, `delivery` gets those to the partitions, `writer` is what Spark
sees. Exactly once is the work of `ledger` (what the broker remembers of a query), `transaction` (a task's part) and
`decision` (the driver's part); docs/internals/spark-exactly-once.md says how they fit together.
"""
