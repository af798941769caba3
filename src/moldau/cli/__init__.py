"""The `moldau` command: one file per command, each with `configure` (its arguments) and functions that carry it out.

`main` imports a command's file only when it is the one asked for, and each of them imports clients or the node only
when it runs. So `moldau version` and `moldau start` do not pay for what they do not use.
"""
