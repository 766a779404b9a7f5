"""The first tables.

A step never changes once it was released, so it names plain types and nothing of the program.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "boot",
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("boot_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("machine", "boot_id", name="pk_boot"),
    )
    op.create_table(
        "card",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_card"),
    )
    op.create_table(
        "claim",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_claim"),
    )
    op.create_table(
        "counter",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counter"),
    )
    op.create_table(
        "guest_order",
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("machine", "word", name="pk_guest_order"),
    )
    op.create_table(
        "ledger",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("about", sa.String(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger"),
    )
    op.create_index("ix_ledger_about", "ledger", ["about"], unique=False)
    op.create_table(
        "look",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_look"),
    )
    op.create_table(
        "machine",
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("uuid", name="pk_machine"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("audience", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("once", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Boolean(), nullable=False),
        sa.Column("sent", sa.DateTime(timezone=True), nullable=True),
        sa.Column("given_up", sa.DateTime(timezone=True), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_waiting", "outbox", ["waiting", "priority", "id"], unique=False)
    op.create_index(
        "uq_outbox_once",
        "outbox",
        ["audience", "once"],
        unique=True,
        sqlite_where=sa.text("once <> ''"),
        postgresql_where=sa.text("once <> ''"),
    )
    op.create_index(
        "uq_outbox_waiting_key",
        "outbox",
        ["audience", "key"],
        unique=True,
        sqlite_where=sa.text("waiting AND key <> ''"),
        postgresql_where=sa.text("waiting AND key <> ''"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_person"),
    )
    op.create_table(
        "pulse",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_pulse"),
    )
    op.create_table(
        "reading",
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("machine", name="pk_reading"),
    )
    op.create_table(
        "said",
        sa.Column("once", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("once", name="pk_said"),
    )
    op.create_index("ix_said_at", "said", ["at"], unique=False)
    op.create_table(
        "standing",
        sa.Column("audience", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("ts", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("audience", "key", name="pk_standing"),
    )
    op.create_table(
        "token",
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("machine", name="pk_token"),
        sa.UniqueConstraint("digest", name="uq_token_digest"),
    )
    op.create_table(
        "word",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_word"),
    )
    op.create_table(
        "agreement",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["machine"], ["machine.uuid"], name="fk_agreement_machine"),
        sa.PrimaryKeyConstraint("number", name="pk_agreement"),
    )
    op.create_index("ix_agreement_machine", "agreement", ["machine"], unique=False)
    op.create_index("ix_agreement_open", "agreement", ["open"], unique=False)
    op.create_table(
        "hold",
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("turn", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.CheckConstraint("turn IN ('has', 'next')", name=op.f("ck_hold_turn")),
        sa.ForeignKeyConstraint(["slot"], ["card.name"], name="fk_hold_slot"),
        sa.PrimaryKeyConstraint("slot", "turn", name="pk_hold"),
    )
    op.create_index("ix_hold_label", "hold", ["label"], unique=False)
    op.create_table(
        "lease",
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("request", sa.Integer(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["machine"], ["machine.uuid"], name="fk_lease_machine"),
        sa.PrimaryKeyConstraint("label", name="pk_lease"),
    )
    op.create_index("ix_lease_open", "lease", ["open"], unique=False)
    op.create_index("ix_lease_over_at", "lease", ["over_at"], unique=False)
    op.create_index("ix_lease_person", "lease", ["person"], unique=False)
    op.create_index("ix_lease_request", "lease", ["request"], unique=False)
    op.create_table(
        "move",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["machine"], ["machine.uuid"], name="fk_move_machine"),
        sa.PrimaryKeyConstraint("number", name="pk_move"),
    )
    op.create_index("ix_move_machine", "move", ["machine"], unique=False)
    op.create_index("ix_move_open", "move", ["open"], unique=False)
    op.create_index("ix_move_over_at", "move", ["over_at"], unique=False)
    op.create_index(
        "uq_move_open_machine",
        "move",
        ["machine"],
        unique=True,
        sqlite_where=sa.text("open"),
        postgresql_where=sa.text("open"),
    )
    op.create_table(
        "request",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["machine"], ["machine.uuid"], name="fk_request_machine"),
        sa.PrimaryKeyConstraint("number", name="pk_request"),
    )
    op.create_index("ix_request_open", "request", ["open"], unique=False)
    op.create_index("ix_request_over_at", "request", ["over_at"], unique=False)
    op.create_index("ix_request_person", "request", ["person"], unique=False)
    op.execute("INSERT INTO pulse (name, beat) VALUES ('books', 0)")
    _append_only()


def _append_only() -> None:
    """The ledger takes new lines and nothing else."""
    words = "the ledger is append only"
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            name = f"ledger_no_{verb.lower()}"
            op.execute(f"CREATE TRIGGER {name} BEFORE {verb} ON ledger BEGIN SELECT RAISE(ABORT, '{words}'); END")
        return
    op.execute(
        "CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{words}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE ON ledger "
        "FOR EACH ROW EXECUTE FUNCTION ledger_append_only()"
    )
