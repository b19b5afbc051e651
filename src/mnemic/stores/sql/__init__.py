"""The shared part of the stores on SQL engines: one set of statements for all.

Statements are written in the part of SQL that SQLite and PostgreSQL share, with ``?`` for values; differences
between engines are behind ``Dialect``.
"""
