"""The PostgreSQL store with pgvector, for records that one machine cannot hold."""
