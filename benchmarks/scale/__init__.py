"""How it grows: more rows, more users, other engines."""
