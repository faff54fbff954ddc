"""What a run may cost, what its models cost, and which limit it ended at."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("runs", sa.Column("budget", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("runs", sa.Column("prices", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("runs", sa.Column("stopped", sa.Text(), nullable=False, server_default=""))
