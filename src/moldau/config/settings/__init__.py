"""The tables of broker settings, one file for each part of the broker that reads them.

Two lines a row: what a program needs to know, then what a person needs to know. Names, types, defaults and ranges are
those of Apache Kafka 4.3; the sentences are ours and say what the setting does here.
"""
