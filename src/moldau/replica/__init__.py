"""Partitions as this broker holds them: leader and followers, in-sync set, high watermark, and what waits for them."""
