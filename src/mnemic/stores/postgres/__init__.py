"""The PostgreSQL store with pgvector, for records that one machine cannot hold."""

from mnemic.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
