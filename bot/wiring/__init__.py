"""The one room that knows every other: it makes the edges, plugs them into the two doors, starts them and stops them.

Called by ``cli`` alone, which imports the file that a command needs when it runs, so that a line at the terminal does not wait for what the
bot needs: ``running`` is the bot, ``terminal`` one line said at the terminal and the drill, ``looking`` what the doctor finds, ``site`` what
``init`` and ``doctor --record`` write. ``ground`` and ``values`` are under all of them. No rule and no sentence of the product lives here,
besides what an operator reads when something cannot start.
"""
