"""What people used lately of hours for which others waited, and who wants to hear when something is free.

A step never changes once it was released, so it names plain types and nothing of the program.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward: two new tables; nothing that is there changes."""
    op.create_table(
        "account",
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_account"),
    )
    op.create_table(
        "interest",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_interest"),
    )
    op.create_index("ix_interest_open", "interest", ["open"], unique=False)
