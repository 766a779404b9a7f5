"""Alembic's way in: runs the steps on the connection that ``schema`` hands it, in the transaction that it has begun."""

from alembic import context

from bot.edges.store.tables import Row

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    # SQLite can do this too, once the driver leaves BEGIN to us: a step that fails leaves nothing behind
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
