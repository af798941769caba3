"""Topics as DataFrames: `batch` and `stream` are Spark's two ways to ask, over the same parts.

`settings` turns options into what is wanted, `subscription` and `bounds` say which partitions and from where to where,
`offsets` asks the brokers, `ranges` cuts the work into tasks, `fetching` brings the bytes of one range, and `decoding`
makes Arrow batches of them.
"""
