"""What the stores on SQL engines have in common: one set of statements, and the rooms that speak them.

Statements are written in the part of SQL that SQLite and PostgreSQL share, with ``?`` for values; what an engine does in a
way of its own is behind ``Dialect``.
"""
