"""What something waits for and what would unblock it: from what can be seen of a cluster from outside to sentences.

One file per thing that can be stuck: `groups` (with `positions`, where a group stands), `share_groups`, `isr` (with
`sight`, what is looked at), `quorum`, `transactions`. `moldau explain` prints what is found, and the console shows it.
`checkup` looks for what is wrong before anybody asks (`moldau doctor`), `exporter` reads what nodes tell of themselves.
"""
