"""What people and programs look at: tables, live progress, JSON."""
