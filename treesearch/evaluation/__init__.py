"""Build, verify and time kernels. The trust boundary runs through here: see ARCHITECTURE.md."""
