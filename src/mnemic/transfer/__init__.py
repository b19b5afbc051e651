"""Records in and out: export and import, backups, migration, and the files of other products."""
