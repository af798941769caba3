"""The pages, run as their reader would run them.

Every fenced block of README.md and docs/ is run in order, page by page, in a fresh directory and against a node with
default settings. What a block prints is compared with the `text` block that follows it; `...` stands for what differs
from run to run, and a line of it for any number of lines. Ids and times never count.

What a block is can be said in a comment above it, which readers do not see:

    <!-- not run: REASON -->    nobody runs it here; `pytest -s tests/documents/test_blocks.py` lists them
    <!-- file: NAME -->         its text is the file NAME, for the blocks below it
    <!-- from: FILE -->         a piece of that file, which has to be there word for word; `...` leaves lines out
    <!-- given: COMMAND -->      what was done before, as far as the page is concerned
    <!-- the node -->           starts what the page's other blocks talk to, which here runs already, on another port
    <!-- runs on -->            a command in the foreground; it is interrupted at the end of the page, and ends with 0
    <!-- again -->              the node was stopped in order and started again before this block
    <!-- stopped -->            the node was stopped in order before this block, and stays so
    <!-- fails -->              ends with another status than 0
    <!-- any order -->          lines of different partitions have no order
"""
