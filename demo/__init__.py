"""A demonstration that checks itself: orders stream into a topic, a declared pipeline on Spark turns them into revenue,
Parquet and dead letters, is killed on the way, and in the end everything equals what a plain batch computes.

`make demo` or `python -m demo`. What is what:
    orders.py      the event set: realistic, seeded, with late, repeated and broken orders
    pipeline.yaml  the declared pipeline
    truth.py       the same result, computed in a few lines of plain Python from the topic itself
    report.py      the page with the charts
    stage.py       what is seen on the terminal
"""
