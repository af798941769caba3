"""kafka-python and aiokafka beside ours: what the table in docs/clients/migrating.md is made of.

names      what can be imported, its arguments and defaults, and the errors, by looking at the installed packages
answers    what the admin clients answer, by asking a node with both
cases      what producers and consumers do, by doing it with both: those of kafka-python (`producer_cases`,
           `consumer_cases`) and of aiokafka (`async_...`), one by one (`trial`, `async_trial`)
reasons    why something differs, where it does
table      the table; `python -m tools.migration` writes it into the page
"""
