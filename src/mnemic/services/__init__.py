"""What clients of services and files need: a background loop, patience, locks, and errors that give no key away."""
