"""What a search, an add, an opening and an installation cost."""
