"""Export and import, backups, migration, and files of other products."""
