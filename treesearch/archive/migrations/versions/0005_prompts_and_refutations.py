"""Which templates a prompt was made from, and what would refute an idea."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("answers", sa.Column("templates", sa.Text(), nullable=False, server_default=""))
    op.add_column("ideas", sa.Column("refutation", sa.Text(), nullable=False, server_default=""))
