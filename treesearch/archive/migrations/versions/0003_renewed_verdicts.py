"""Labels and sandbox of verdicts, verdicts that are given anew, and findings about kernels."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    with op.batch_alter_table("evaluations") as table:
        table.add_column(sa.Column("labels", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("sandbox", sa.Text(), nullable=False, server_default=""))
        table.add_column(sa.Column("ordinal", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(sa.Column("stored", sa.Text(), nullable=False, server_default=""))
        table.drop_constraint("uq_evaluations_kernel", type_="unique")
        table.create_unique_constraint("uq_evaluations_kernel", ["kernel", "device", "protocol", "ordinal"])
    op.execute("UPDATE evaluations SET stored = created")
    op.create_table(
        "findings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kernel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["kernel"], ["kernels.id"], name="fk_findings_kernel"),
        sa.PrimaryKeyConstraint("id", name="pk_findings"),
        sa.UniqueConstraint("kernel", "created", name="uq_findings_kernel"),
    )
