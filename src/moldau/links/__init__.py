"""Talking to a node: one connection and what is said on it, for clients and for nodes among themselves.

Neutral ground: it knows the wire and the ports, and nothing of who asks or why. `Link` is one connection; a client has
its own rules about which to open (`client/network`), nodes ask by address (`Peers`).
"""
