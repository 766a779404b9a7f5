"""What guests say of their cards: minutes, hours, and the clocks of lent devices.

A step never changes once it was released, so it names plain types and nothing of the program.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "watch",
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("slot", name="pk_watch"),
    )
    op.create_table(
        "minute",
        sa.Column("id", LONG, nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_minute"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_minute_machine", "minute", ["machine"])
    op.create_table(
        "hour",
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("measured_ms", LONG, nullable=False),
        sa.Column("busy_ms", LONG, nullable=False),
        sa.Column("top", sa.Float(), nullable=True),
        sa.Column("energy_mj", LONG, nullable=True),
        sa.Column("mem_mb", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("machine", "uuid", "start", name="pk_hour"),
    )
    op.create_index("ix_hour_start", "hour", ["start"])
