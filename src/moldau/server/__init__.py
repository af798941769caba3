"""The shell around the broker: connections, requests, and one file per API in `apis`."""
