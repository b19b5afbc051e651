"""What adapters of frameworks share."""
