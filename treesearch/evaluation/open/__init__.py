"""The open lane: candidates that are Python modules, judged in a process of their own that has torch."""
