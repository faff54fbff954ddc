"""What a model that can call a tool asked of it before it answered."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "turns",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("request", "model")),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("run", "message")),
        sa.Column("reports", sa.JSON(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in ("input_tokens", "output_tokens")),
        *(sa.Column(name, sa.Double(), nullable=True) for name in ("cost_usd", "seconds")),
        sa.Column("created", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_turns_run"),
        sa.PrimaryKeyConstraint("request", "model", "number", name="pk_turns"),
    )
    op.create_index("ix_turns_run", "turns", ["run"])
