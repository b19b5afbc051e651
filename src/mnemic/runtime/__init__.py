"""The runtime shared by the handles on one record: store, indexer, caches, locks and background work."""
