"""Topics as DataFrames: `batch` and `stream` are Spark's two ways to ask, over the same parts.

`settings` turns options into what is wanted, `subscription` and `bounds` say which partitions and from where to where,
`offsets` asks the brokers, `ranges` cuts the work into tasks, `fetching` brings what the brokers have for one, and
`decoding` makes Arrow batches of it. `positions` are Spark's offsets, `group` shows them to lag tools.
"""
