"""Jobs over what was written long ago: `moldau history`.

`exporting` copies a topic to Parquet, `copying` makes a new topic of it (other keys, other partitions), `erasing` and
`recompressing` rewrite the segments of a stopped node, `verifying` reads everything and says whether it is sound.
"""
