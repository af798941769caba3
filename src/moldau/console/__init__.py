"""The console: a page in the browser that shows a cluster, ours or Apache Kafka's, and acts on it as any client does.

    server         from the command's options to a listening server
    visits         what a request is to a page: the console, a session, a form; sending pages back
    gate           who may come in: hosts, sessions, login, forged requests, sizes, headers
    watch          looks at the cluster every few seconds, and keeps what it saw (`snapshot`, `series`)
    links          the lines to the cluster: for watching, asking, reading and writing
    pipelines      what pipelines on Spark say of themselves, in files beside their checkpoints
    browsing       records from here to there, with a filter; `views` shows their bytes (`avro`, `protobuf`)
    charts, listing   curves as SVG; tables by the page
    pages/         one file per noun; templates/, static/: what the browser gets

Pages are made on the server from what the watch has in memory; a small script asks for the same page again and puts in
what has changed. Whatever is asked of the cluster beside that has a limit of a few seconds.
"""
