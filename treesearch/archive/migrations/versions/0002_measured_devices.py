"""What is known of GPUs, the measured figures of devices, and the operations of problems."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("devices", sa.Column("architecture", sa.Text(), nullable=False, server_default=""))
    op.add_column("devices", sa.Column("clock_mhz", sa.Integer(), nullable=True))
    op.add_column("devices", sa.Column("memory_clock_mhz", sa.Integer(), nullable=True))
    op.add_column("devices", sa.Column("shared_memory_bytes", sa.Integer(), nullable=True))
    op.add_column("devices", sa.Column("bandwidth", sa.Double(), nullable=True))
    op.add_column("devices", sa.Column("rates", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("devices", sa.Column("software", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("problems", sa.Column("flops", sa.BigInteger(), nullable=True))
