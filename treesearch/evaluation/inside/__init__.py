"""What runs in a child before its command: standard library only, and little of it, since every child waits for it."""
