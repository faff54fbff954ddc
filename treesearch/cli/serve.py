"""`treesearch serve`: pages in a browser, while a search goes on."""

from __future__ import annotations

import click

from treesearch.cli import common
from treesearch.errors import UsageError

PORT = 8731


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0 is any free one.")
@click.option("--open", "opened", is_flag=True, help="Open a browser there.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--expose", is_flag=True, help="Answer other machines too, where they bring the token that is printed.")
@common.archive_option
def serve(port: int, opened: bool, host: str, expose: bool, archive: str | None) -> None:
    """Show runs and kernels as pages in a browser.

    They come from the working archive and from the shipped record, and change as a run goes on; nothing can be changed
    there. Only this machine is answered, unless --host names another address and --expose says that this is meant.
    """
    import secrets
    import webbrowser

    from treesearch.pages import server
    from treesearch.pages.guard import LOOPBACK
    from treesearch.pages.shelf import Shelf

    if not expose and host not in LOOPBACK:
        raise UsageError(f"{host} is an address that other machines may reach; add --expose if that is meant.")
    shelf, listener = Shelf.named(archive), server.bound(host, port)
    token = secrets.token_urlsafe(24) if expose else ""
    url = server.address(listener, token)
    server.prepare(shelf)
    click.echo(url)
    click.echo("Ctrl-C ends it.", err=True)
    if opened:
        webbrowser.open(url)
    server.serve(shelf, listener, token=token)
