"""The segment source, `format("moldau-log")`: Spark reads the files of a data directory, without a broker.

`data_directory` finds logs and the segments in them, `bounds` turns options into ranges of offsets, `decided` knows
which transactions count, `splits` cuts the ranges into tasks, `scan` is what a task does, `reader` what Spark asks.
"""
