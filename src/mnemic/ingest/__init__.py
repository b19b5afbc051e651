"""What comes in: checked, without secrets, embedded and written."""
