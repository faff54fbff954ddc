"""Passages of prompts, each of which is kept once; older answers keep their prompts whole."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "passages",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("digest", "text")),
        sa.PrimaryKeyConstraint("digest", name="pk_passages"),
    )
    op.add_column("answers", sa.Column("passages", sa.JSON(), nullable=True))
