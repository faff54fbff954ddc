"""What a person decided about ideas, and which decisions a round began with."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

TEXTS = ("run", "verb", "parent", "about", "reason", "by", "created", "title", "category", "mechanism")


def upgrade() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in TEXTS),
        sa.Column("expected_speedup", sa.Double(), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("risk", "refutation")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_decisions_run"),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
    )
    op.create_index("ix_decisions_run", "decisions", ["run"])
    op.add_column("rounds", sa.Column("decisions", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("ideas", sa.Column("decision", sa.Text(), nullable=True))
