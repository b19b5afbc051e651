"""The SQLite store. It uses apsw: the SQLite that ships with Python is often a version that can lose commits."""
