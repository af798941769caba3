"""What is measured, as text that monitoring tools read, and how measured times are spread.

Nothing here reads a clock: whoever measures passes the time in, so a simulated node measures simulated time.
"""
