"""What every client of a remote service needs: a background loop, patience, and errors that give no key away."""
