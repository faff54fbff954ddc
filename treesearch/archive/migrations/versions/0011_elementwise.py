"""The largest error of an element on nominal inputs, beside that of a row on any."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("elementwise_error", sa.Double(), nullable=True))
