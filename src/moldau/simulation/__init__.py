"""The simulator: the same node code on a seeded clock, network, disk and chance.

    chance      all randomness, from one seed
    clock       virtual time
    loop        the order in which things happen, and a node's loop on top of it
    inode       what a disk holds, and what of it would survive a power cut
    disk        the disk port: files, directories, faults, power cuts
    network     connections in memory, with latency, drops and cuts
    workers     jobs that run a little later
    runtime     all of these in one hand: what a node is built on
    world       machines that start, die and start again, in one virtual time
    client      Kafka's client conversations over the simulated network
    ledger      what was sent and acknowledged, and the invariants that follow

One thread, no waiting: when nobody has anything to do at this moment, time moves to the next event. A run is a
function of its seed, so a failure can be had again as often as needed. Nothing imports this package.
"""
