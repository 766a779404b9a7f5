"""A hold may be of a part of a card, ``T4-5.1``; the card that it is of stands beside it.

A step never changes once it was released, so it names plain types and nothing of the program.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward: the table is made anew, since SQLite changes no constraint of one that is there. Until now every slot was a whole card."""
    connection = op.get_bind()
    held = connection.execute(sa.text("SELECT slot, turn, label FROM hold")).all()
    op.drop_table("hold")
    hold = op.create_table(
        "hold",
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("turn", sa.String(), nullable=False),
        sa.Column("card", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.CheckConstraint("turn IN ('has', 'next')", name=op.f("ck_hold_turn")),
        sa.ForeignKeyConstraint(["card"], ["card.name"], name="fk_hold_card"),
        sa.PrimaryKeyConstraint("slot", "turn", name="pk_hold"),
    )
    op.create_index("ix_hold_label", "hold", ["label"], unique=False)
    rows = [{"slot": slot, "turn": turn, "card": slot, "label": label} for slot, turn, label in held]
    if rows:
        connection.execute(hold.insert(), rows)
