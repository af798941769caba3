"""Nodes as processes: where each of them is, how they are started, watched and ended, and what is left of them.

    layout    the nodes of a cluster on this machine: ids, roles, ports, and the settings that follow
    claim     whose a directory of nodes is, as long as they run
    process   one node: started, ready, stopped, killed
    guard     who clears up when whoever started the nodes is gone

`moldau cluster start` and `moldau.testing` stand on it.
"""
