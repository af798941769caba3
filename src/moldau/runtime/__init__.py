"""The seam to the outside world: the only room on the server side where time, chance, sockets and files appear."""
