"""The APIs, one file each: what a request means, from its decoded form to its answer. `table` names them all."""
