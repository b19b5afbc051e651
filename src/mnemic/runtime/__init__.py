"""What a handle holds: the record behind its guard, the indexer, one cache a user, locks and background work."""
