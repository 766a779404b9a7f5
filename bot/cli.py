"""The command line. Everything heavy is imported when a command runs, so that ``--help`` answers at once."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bot.service.setup.first import Entry

app = typer.Typer(
    name="gpubot",
    help="The desk for a team's GPUs in vSphere, in Slack.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
local = typer.Typer(
    help="Stand-ins on this machine: a Slack and a vCenter that speak the real protocols.", no_args_is_help=True
)
db = typer.Typer(help="The database: bring it up to date, copy it, bring a copy back.", no_args_is_help=True)
app.add_typer(local, name="local")
app.add_typer(db, name="db")


def _version(asked: bool) -> None:
    """Which gpubot this is, as its package says; in a tree that nobody installed, as the tree says."""
    if not asked:
        return
    from importlib.metadata import PackageNotFoundError, version

    from bot import __version__

    try:
        found = version("gpubot")
    except PackageNotFoundError:
        found = __version__
    typer.echo(f"gpubot {found}")
    raise typer.Exit


@app.callback()
def gpubot(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is, and end.")
    ] = False,
) -> None:
    """What is said before any command."""


SettingsFile = Annotated[
    Path,
    typer.Option(
        "--settings", "-s", help="The settings file.", envvar="GPUBOT_SETTINGS", readable=False
    ),  # told by who reads it
]
HERE = Path("gpubot.toml")


@app.command()
def demo(
    speed: Annotated[
        float, typer.Option(min=0.1, max=600, help="Virtual seconds a real second, with the page.")
    ] = 20.0,
    story: Annotated[
        str, typer.Option(help="Play this story without a browser: 1, day, idle, take-back or queue.")
    ] = "",
    folder: Annotated[
        Path | None, typer.Option(help="Where settings, database and logs go; else a temporary folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
    spoil: Annotated[
        str, typer.Option(help="Turn one expectation of the story round, by its name: it must fail.")
    ] = "",
) -> None:
    """Everything on this machine: a local Slack with a page, a local vCenter, and the bot."""
    from bot.local.demo import play

    raise typer.Exit(play(story=story, speed=speed, folder=folder, port=port, spoil=spoil))


@app.command()
def run(
    settings: SettingsFile = HERE,
    beside: Annotated[bool, typer.Option("--beside", hidden=True, help="Run beside another bot (tests only).")] = False,
) -> None:
    """Be the bot, until SIGTERM, Ctrl-C or the end of its terminal (not with nohup)."""
    from bot.config import SettingsError, load
    from bot.wiring.ground import CannotStart, amiss, cannot

    loaded, mistakes = None, []
    try:
        loaded = load(settings, run=True)
    except SettingsError as error:
        mistakes += error.mistakes
    mistakes += amiss()
    level = os.environ.get("GPUBOT_LOG", "INFO").upper()
    if level not in logging.getLevelNamesMapping():
        mistakes.append(f"GPUBOT_LOG is {level}, which is no level; write: GPUBOT_LOG=INFO")
    if mistakes or loaded is None:
        raise _fail(cannot(mistakes))
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(name)s  %(message)s")
    for name in ("httpx", "alembic", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)
    from bot.wiring.running import run as be_the_bot

    try:
        raise typer.Exit(be_the_bot(loaded, single=not beside))
    except CannotStart as error:
        _fail(str(error))


@app.command("init")
def first_settings(
    host: Annotated[str, typer.Option(help="Name or address of the vCenter.")] = "",
    user: Annotated[str, typer.Option(help="A login that may read there.")] = "",
    password_file: Annotated[Path | None, typer.Option(help="File with its password, one line.")] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="PEM file of the authority that signed its certificate; else the system's.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Its port.")] = 443,
    name: Annotated[str, typer.Option(help="What to call it: NAME of vcenter.NAME in the settings.")] = "lab",
    out: Annotated[Path, typer.Option("--out", "-o", help="The settings file to write.")] = HERE,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
) -> None:
    """Look at a vCenter, and write the first settings and the lines that register its machines. Reads only.

    What is not given by options is asked for, if there is a terminal. Level is watch: nothing is moved.
    """
    from bot.service.setup import first, show

    files = (out, first.beside(out))
    with _reached(out):
        there = [str(file) for file in files if file.exists()]
        if not out.resolve().parent.is_dir():
            raise _fail(f"there is no folder {out.resolve().parent}: make it first")
    if there and not force:
        raise _fail(
            f"{' and '.join(there)} exist{'s' if len(there) == 1 else ''} already: name another file with --out, or write over it with --force"
        )
    host = host or _asked("--host", "Name or address of the vCenter")
    user = user or _asked("--user", "A login there that may read (like gpubot@vsphere.local)")
    password_file = password_file or Path(_asked("--password-file", "File with its password"))
    entry, password = _entry(name, host, port, user, password_file, ca_file, out)
    from bot.edges.here import zone
    from bot.wiring.site import first_look

    logging.disable(logging.CRITICAL)
    toml, machines, found = first_look(entry(zone()), password, ca_file)
    if found:
        typer.echo(show.listing(found), err=True)
    if not toml:
        raise _fail("Nothing was written.")
    for file, text in zip(files, (toml, machines), strict=True):
        try:
            file.write_text(text, "utf-8")
        except OSError as error:
            raise _fail(f"{file} cannot be written: {error.strerror}") from None
    typer.echo(f"{machines}\nWrote {files[0]} and these lines into {files[1]}.")
    typer.echo(f"Next: fill in the lines marked TODO, then run: gpubot doctor --settings {files[0]}")


@contextmanager
def _reached(file: Path) -> Iterator[None]:
    """Whether it is there can be told at all: the folders above it may be closed to this user."""
    try:
        yield
    except OSError as error:
        _fail(f"{file} cannot be reached: {error.strerror}")


def _asked(option: str, question: str) -> str:
    """What a person at the terminal answers; without one, the option is needed."""
    if not sys.stdin.isatty():
        raise _fail(f"{option} is needed where there is no terminal to ask at")
    return str(typer.prompt(question, err=True)).strip()


def _entry(
    name: str, host: str, port: int, user: str, password_file: Path, ca_file: Path | None, out: Path
) -> tuple[Callable[[str], Entry], str]:
    """How the vCenter is reached, still without the zone, and its password. Paths are written as seen from the settings file."""
    import re

    from bot.config import is_host
    from bot.service.setup.first import Entry

    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name):
        raise _fail("--name is small letters, digits and dashes, like: lab")
    if not is_host(host):
        raise _fail("--host is a name or an address alone, like: vcenter.example.com (the port is --port)")
    try:
        password = password_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _fail(f"{password_file} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    if not password or "\n" in password:
        raise _fail(f"{password_file} must have one line: the password")
    if ca_file is not None:
        with _reached(ca_file):
            if not ca_file.is_file():
                raise _fail(f"there is no file {ca_file}")
    folder = out.resolve().parent

    def seen(path: Path) -> str:
        full = path.resolve()
        return str(full.relative_to(folder)) if full.is_relative_to(folder) else str(full)

    def entry(zone: str) -> Entry:
        ca = seen(ca_file) if ca_file is not None else ""
        return Entry(name, host, port, user, seen(password_file), ca, zone or "Europe/Berlin")

    return entry, password


@app.command("doctor")
def look_into(
    settings: SettingsFile = HERE,
    json: Annotated[bool, typer.Option("--json", help="For programs: one JSON object.")] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the inventory into a new folder, without names, to be sent to somebody."
        ),
    ] = None,
) -> None:
    """Look into everything and name all that is wrong at once: settings, database, Slack, vCenter, cards, machines, guests, clocks.

    Changes nothing, with the bot running or not. Ends with 0 if nothing is wrong, 1 after warnings, 2 after errors.
    """
    from bot.service.setup import show
    from bot.wiring.looking import look_into as look
    from bot.wiring.site import record_site

    logging.disable(logging.CRITICAL)  # what goes wrong is told as findings
    recorded, failed = record_site(settings, record) if record is not None else ([], [])
    for line in recorded:
        typer.echo(line, err=json)
    report = look(settings, failed)
    typer.echo(show.as_json(report) if json else show.text(report))
    if any(finding.code == "doctor.silent" for finding in report.findings):
        sys.stdout.flush()
        os._exit(report.exit_code)  # a thread that waits for a silent peer would keep the process
    raise typer.Exit(report.exit_code)


@app.command()
def say(
    text: Annotated[list[str], typer.Argument(help='What somebody says, e.g. "request 1".')],
    as_: Annotated[str, typer.Option("--as", help="Who says it: a name or a Slack id.")],
    settings: SettingsFile = HERE,
) -> None:
    """Say something to the desk from the terminal: the same answer as in Slack, with the bot running or not.

    Exit code: 0 done or answered, 1 refused, 2 it was not said: wrong settings, no database, nobody of that name.
    """
    raise typer.Exit(0 if _say(settings, as_, " ".join(text)) else 1)


def _say(settings: Path, as_: str, text: str, before: str = "") -> bool:
    """Whether the desk did it. ``before``: what is said before an error."""
    from bot.wiring import terminal

    loaded = _load(settings, before)
    with _database(settings, before):
        reply = terminal.say(loaded, as_, text)
    with _database(settings):
        typer.echo(terminal.plain(loaded, as_, reply))
    return bool(reply.ok)


@app.command()
def pause(
    why: Annotated[list[str] | None, typer.Argument(help="A reason; it is public.", show_default=False)] = None,
    as_: Annotated[str, typer.Option("--as", help="Which admin says it; else this system's user.")] = "",
    settings: SettingsFile = HERE,
) -> None:
    """Stop all acting at once (looking and answering go on). `gpubot say --as ADMIN resume` goes on.

    Exit code: 0 only if it is paused.
    """
    from bot.wiring import terminal

    if as_:
        done = _say(settings, as_, " ".join(["pause", *(["because", *why] if why else [])]), NOT_PAUSED)
        raise typer.Exit(0 if done else 1)
    loaded = _load(settings, NOT_PAUSED)
    with _database(settings, NOT_PAUSED):
        reply = terminal.halt(loaded, _user(), " ".join(why or ()))
    with _database(settings):
        typer.echo(terminal.plain(loaded, "", reply))


@app.command()
def drill(
    machine: Annotated[str, typer.Argument(help="A machine that nobody needs; it restarts twice.")],
    as_: Annotated[str, typer.Option("--as", help="Which admin asks; else the first one that is known.")] = "",
    kind: Annotated[str, typer.Option(help="Of which kind of card; else any that is free on its host.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it begins.")] = False,
    settings: SettingsFile = HERE,
) -> None:
    """One whole move and its way back, timed, by the bot that runs. Exit code 0 only if all is as it was before.

    Ctrl-C, SIGTERM or the end of the terminal gives back what was begun and waits for that; a second Ctrl-C or SIGTERM leaves it to the bot,
    and says what goes on. What a drill left that was killed, the next one offers to give back.
    """
    from bot.wiring import terminal

    loaded = _load(settings)
    with _database(settings):
        code = terminal.drill_of(loaded, machine, as_, kind, yes=yes, out=typer.echo, ask=_agreed)
    raise typer.Exit(code)


def _agreed(question: str) -> bool:
    """What a person at the terminal answers; one who goes away does not agree."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        typer.echo()
        return False


def _user() -> str:
    """The system's name for who is at the terminal; a container may have none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


@app.command("replay")
def replay_trace(
    trace: Annotated[
        Path,
        typer.Argument(metavar="TRACE", help="CSV, plain or gzipped: submit_s,user,gpus,duration_s.", readable=False),
    ],
    cards: Annotated[int, typer.Option(help="Cards of the pool.")] = 4,
    load: Annotated[
        float,
        typer.Option(
            help="Share of their hours that would be held if everybody were served at once; above 1 waits grow without end."
        ),
    ] = 0.7,
    seeds: Annotated[int, typer.Option(help="How often it is played, each time with other people.")] = 5,
    take_back: Annotated[
        float | None,
        typer.Option(help="Minutes after the work after which a card goes back; else as the bot does it."),
    ] = None,
    windows: Annotated[str, typer.Option(help="When machines may restart: any, 1h, 4h or demand.")] = "any",
    json: Annotated[
        bool, typer.Option("--json", help="For programs: a list, one object a policy, with what was played.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw it, too, into this file.")] = None,
) -> None:
    """Play the bot's policy, and others, on a trace of requests with simulated people: who would wait how long.

    Needs no settings, and touches nothing. Exit code 2 if there is nothing that can be played.
    """
    from bot.service.replay import CannotReplay, Setup, read, replay, show

    try:
        setup = Setup(cards, load, seeds, take_back, windows)
        if why := _no_picture(plot):
            raise CannotReplay(why)
        with _bar() as told:
            outcomes = replay(read(trace), setup, told)
    except CannotReplay as error:
        raise _fail(str(error)) from None
    typer.echo(show.as_json(outcomes, setup) if json else show.text(outcomes, setup, trace.name))
    if json and (careful := show.caution(setup)):
        typer.echo(careful, err=True)
    if plot is not None:
        from bot.edges.plots import Plots

        try:
            plot.write_bytes(Plots().compared(show.picture(outcomes, setup, trace.name)))
        except OSError as error:
            _fail(f"{plot} cannot be written: {error.strerror}")


@app.command()
def report(
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the sums as a table: one row per day, kind, state, team and person; - prints it.",
        ),
    ] = None,
    week: Annotated[bool, typer.Option("--week", help="The last whole week, Monday to Sunday.")] = False,
    month: Annotated[bool, typer.Option("--month", help="The last whole month.")] = False,
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="From this day on: 2026-11-09.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="DAY", help="Up to this day, which is included.")] = "",
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw it, too, into this file.")] = None,
    copy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of a copy that `gpubot db backup` wrote, not of the database.")
    ] = None,
    settings: SettingsFile = HERE,
) -> None:
    """How the hours of the cards went: lent, busy, quiet, unknown, free, resting; who waited. Without options: this week so far.

    Only reads, with the bot running or not. Days are those of the site's zone. Names of people are in it.
    """
    from bot.wiring.reports import Wanted
    from bot.wiring.reports import report as made_of

    if why := _no_picture(plot):
        raise _fail(why)
    loaded = _load(settings)
    with _database(settings):
        made = made_of(loaded, Wanted(week, month, first, last), copy)
    if csv is None:
        typer.echo(made.text)
    else:
        _write_table(csv, made.table)
    if plot is not None and made.picture is None:
        typer.echo(f"There is nothing to draw, so {plot} was not written: no card is known.", err=True)
    elif plot is not None and made.picture is not None:
        from bot.edges.plots import Plots

        try:
            plot.write_bytes(Plots().hours(made.picture))
        except OSError as error:
            _fail(f"{plot} cannot be written: {error.strerror}")


def _no_picture(plot: Path | None) -> str:
    """Why nothing can be drawn into a file; "" it can, or nothing is to be drawn. Asked before anything takes long."""
    there = plot is None or (plot.suffix.lower() == ".png" and plot.resolve().parent.is_dir())
    return "" if there else f"--plot is {plot}: a file FILE.png in a folder that is there"


def _write_table(file: Path, table: list[tuple[str, ...]]) -> None:
    """As CSV; ``-`` is the standard output."""
    import csv

    if str(file) == "-":
        csv.writer(sys.stdout, lineterminator="\n").writerows(table)
        return
    try:
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows(table)
    except OSError as error:
        _fail(f"{file} cannot be written: {error.strerror}")
    typer.echo(f"{len(table) - 1} rows in {file}.")


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """Shows how far something is, if there is a terminal: called with how much is done, and of how much."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    with typer.progressbar(length=1000, file=sys.stderr) as bar:
        yield lambda done, of: bar.update(1000 * done // of - bar.pos)


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The stand-ins and what runs in guests read their own options, so that ``python -m bot.local.slack`` takes the same ones."""


@app.command("agent", context_settings=PASSED_ON, add_help_option=False)
def agent(ctx: typer.Context) -> None:
    """In a guest: tell the bot what its cards and its people do, until SIGTERM."""
    from bot.guest.agent.main import main as run_agent

    raise typer.Exit(run_agent(ctx.args, "gpubot agent"))


@app.command("check", context_settings=PASSED_ON, add_help_option=False)
def check(ctx: typer.Context) -> None:
    """In a guest: does its card work with TensorFlow? Without a card, the same on the processor."""
    from bot.guest.check.main import main as run_check

    raise typer.Exit(run_check(ctx.args, "gpubot check"))


@app.command("guest-kit", context_settings=PASSED_ON, add_help_option=False)
def guest_kit(ctx: typer.Context) -> None:
    """Write what a guest needs into a folder: the agent, `gpu`, the check, a systemd unit, install.sh, a page."""
    from bot.guest.kit.main import main as write_kit

    raise typer.Exit(write_kit(ctx.args, "gpubot guest-kit"))


@local.command("vcenter", context_settings=PASSED_ON, add_help_option=False)
def local_vcenter(ctx: typer.Context) -> None:
    """A vCenter with one host and four T4; prints one line with URL, user and password when ready."""
    from bot.local.arguments import vcenter_parser

    args = vcenter_parser("gpubot local vcenter").parse_args(ctx.args)
    from bot.local.vcenter.__main__ import serve_as

    serve_as(args)


@local.command("slack", context_settings=PASSED_ON, add_help_option=False)
def local_slack(ctx: typer.Context) -> None:
    """A Slack with a page; prints one line with its URL and tokens when ready."""
    from bot.local.arguments import slack_parser

    args = slack_parser("gpubot local slack").parse_args(ctx.args)
    import asyncio

    from bot.local.slack.__main__ import run as serve
    from bot.local.slack.__main__ import setup_of

    asyncio.run(serve(setup_of(args), args.port))


@db.command("upgrade")
def db_upgrade(settings: SettingsFile = HERE) -> None:
    """Bring the database to this program's version; one that is not there yet is made."""
    from bot.edges.store import name_of, upgrade

    url = _load(settings).store.url
    with _database(settings):
        upgrade(url)
        typer.echo(f"The database {name_of(url)} is up to date.")


@db.command("backup")
def db_backup(to: Annotated[Path, typer.Argument(help="The file to write.")], settings: SettingsFile = HERE) -> None:
    """Copy the database (SQLite) into a new file, with the bot running or not."""
    from bot.edges.store import backup

    url = _load(settings).store.url
    with _database(settings):
        backup(url, to)
    typer.echo(f"Copied to {to}.")


@db.command("restore")
def db_restore(
    source: Annotated[Path, typer.Argument(help="A file that backup wrote.")], settings: SettingsFile = HERE
) -> None:
    """Bring a copy back; the bot must not run. The database before is kept beside it."""
    from bot.edges.store import restore

    url = _load(settings).store.url
    with _database(settings):
        found = restore(url, source)
    typer.echo(f"Restored from {source}." + (f" What was there before is in {found.kept}." if found.kept else ""))
    typer.echo(
        "What happened after the copy was made is not in it: look at each machine that is off. The bot tells the"
    )
    typer.echo("admins which it finds off, and leaves them off.")
    if found.off is None:
        typer.echo("The database before cannot be read, so nobody knows which machines were just being restarted.")
    elif found.off:
        typer.echo(
            f"By the database before, off through the bot, and started if they are off still: {', '.join(found.off)}."
        )


NOT_PAUSED = "It is not paused: "


@contextmanager
def _database(settings: Path, before: str = "") -> Iterator[None]:
    """What keeps a command from beginning, or is wrong with the database or with a copy, in one line."""
    from bot.config import named_by
    from bot.edges.store import Absent, StoreError
    from bot.wiring.ground import CannotStart

    try:
        yield
    except Absent as error:
        makes = "`gpubot run` makes it, and so does `gpubot db upgrade`"
        other = "if the bot has another one, name its settings with --settings (or GPUBOT_SETTINGS)"
        _fail(f"{before}{error} ({named_by(settings, 'store', 'url')}). {makes}; {other}.")
    except (StoreError, CannotStart) as error:
        _fail(f"{before}{error}")


def _load(path: Path, before: str = "") -> Any:
    """The settings, or all mistakes at once."""
    from bot.config import SettingsError, load

    try:
        return load(path)
    except SettingsError as error:
        _fail(f"{before}{error}")


def _fail(text: str) -> Any:
    typer.echo(text, err=True)
    raise typer.Exit(2)


def main() -> None:
    """The entry point of the package. What a terminal's letters cannot say is written with backslashes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # what is still to be written, while it can be told that it was not
    except OSError as error:
        if error.errno not in NO_ROOM or sys.stdout is None:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # else what is still to be written fails again at the end
        if error.errno == errno.EPIPE:  # nobody reads it any more: as typer ends then
            sys.exit(1)
        typer.echo(f"Nothing more can be written: {error.strerror}", err=True)
        sys.exit(2)


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE})
"""What happens to an answer on its way out of the process; everything else is an error of ours."""


if __name__ == "__main__":
    main()
