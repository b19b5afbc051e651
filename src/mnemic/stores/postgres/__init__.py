"""The record in a PostgreSQL database with pgvector, for what one machine cannot hold."""

from mnemic.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
