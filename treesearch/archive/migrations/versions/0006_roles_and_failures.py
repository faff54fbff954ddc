"""Models by role; questions that no model will answer; what a failed attempt said and cost."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    for name in ("idea_models", "code_models"):
        op.add_column("runs", sa.Column(name, sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("answers", sa.Column("failure", sa.Text(), nullable=False, server_default=""))
    op.add_column("failed_asks", sa.Column("text", sa.Text(), nullable=False, server_default=""))
    for name in ("input_tokens", "output_tokens"):
        op.add_column("failed_asks", sa.Column(name, sa.Integer(), nullable=True))
    op.add_column("failed_asks", sa.Column("cost_usd", sa.Double(), nullable=True))
