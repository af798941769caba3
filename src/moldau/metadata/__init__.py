"""What the cluster knows about itself: records in a log, images of what they add up to, and the deltas between.

`records` frames Kafka's metadata records, `delta` applies them to an image, `loader` follows the log and hands each
new image to the publishers. Readers hold an image as long as they like; nothing in it ever changes.
"""
