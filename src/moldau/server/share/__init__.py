"""Share groups as leaders of partitions see them: what is delivered to whom, and where it is kept how far it is."""
