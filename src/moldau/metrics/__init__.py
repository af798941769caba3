"""Counters, gauges, rates and histograms; see `registry` for how they get their names. No room counts anything yet.

Nothing here reads a clock: whoever measures passes the time in, so a simulated node measures simulated time.
"""
