"""Profiles and conditions of verdicts, later measurements, comparisons, and the noise of devices."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("devices", sa.Column("noise", sa.Double(), nullable=True))
    op.add_column("evaluations", sa.Column("profile", sa.Text(), nullable=False, server_default=""))
    op.add_column("evaluations", sa.Column("conditions", sa.JSON(), nullable=True))
    for name in ("warm_milliseconds", "parent_speedup", "parent_speedup_low", "parent_speedup_high"):
        op.add_column("evaluations", sa.Column(name, sa.Double(), nullable=True))
    op.create_table(
        "remeasurements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kernel", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("milliseconds", sa.Double(), nullable=True),
        sa.Column("evaluation", sa.JSON(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["kernel"], ["kernels.id"], name="fk_remeasurements_kernel"),
        sa.ForeignKeyConstraint(["device"], ["devices.id"], name="fk_remeasurements_device"),
        sa.PrimaryKeyConstraint("id", name="pk_remeasurements"),
        sa.UniqueConstraint("kernel", "created", name="uq_remeasurements_kernel"),
    )
    op.create_table(
        "comparisons",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("ratio", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=False),
        sa.Column("high", sa.Double(), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["first"], ["kernels.id"], name="fk_comparisons_first"),
        sa.ForeignKeyConstraint(["device"], ["devices.id"], name="fk_comparisons_device"),
        sa.PrimaryKeyConstraint("id", name="pk_comparisons"),
        sa.UniqueConstraint("first", "second", "created", name="uq_comparisons_first"),
    )
