"""What runs in a child before its command: standard library only."""
