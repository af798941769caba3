"""What is wrong with a cluster and its machines, before somebody asks why something is stuck: `moldau doctor`.

`sight` looks at everything a client can see, once, with a limit for each question; the other files are pure functions
from what was seen to what is found, one per subject: `machine`, `brokers`, `replicas`, `settings`, `groups`,
`transactions`. Data directories are files of a node, which is no business of clients: `moldau.cli.doctor_files`.
"""
