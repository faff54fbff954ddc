"""Indexes that hold all that an overview of every run counts, so that no source or sample is read for it."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_index("ix_kernels_run", "kernels", ["run", "id"])
    op.create_index("ix_evaluations_kernel", "evaluations", ["kernel", "device", "ordinal", "status", "milliseconds"])
    op.create_index("ix_evaluations_milliseconds", "evaluations", ["milliseconds"])
