"""Pages about runs and kernels: served while a search goes on, or one of them as a file.

`study` reads, `runs`, `kernels`, `front` and `comparing` say what a page shows, `render` makes HTML of it; only
`server` and what it uses (`guard`, `live`) know of HTTP.
"""
