"""What Alembic runs for each command: the migrations, on the connection it was handed, in that transaction."""

from alembic import context

from treesearch.archive.schema import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
context.run_migrations()
