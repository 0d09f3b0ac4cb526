"""A database that may be busy, away or full: codes tell which, and calls wait where it helps."""

import errno
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import optuna
from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    OperationalError,
    PendingRollbackError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from meseta.study.interrupts import deferred
from meseta.study.terminal import say

if TYPE_CHECKING:
    from meseta.study.workers.liveness import Listener

T = TypeVar("T")
# "raced": another process has just made what we wanted to make.
Trouble = Literal["away", "busy", "full", "read-only", "no database", "raced", "other"]
PASSING = ("away", "busy")  # goes by without anybody doing anything

SQLITE_PATIENCE = 60.0  # seconds until a SQLite file that another process writes to is "busy"
# Seconds that a worker waits for a database that is away or busy: servers are restarted in less.
PATIENCE = 300.0
PAUSES = 0.5, 10.0  # seconds between two attempts: at first, and at most
RACES = 20  # attempts to make the tables, where others make them at the same time

# The primary result codes of SQLite, https://www.sqlite.org/rescode.html
_SQLITE: dict[int, Trouble] = {
    5: "busy",
    6: "busy",
    8: "read-only",
    13: "full",
    14: "read-only",  # cannot be opened: the folder, or the journal in it
    26: "no database",
    11: "no database",  # malformed
    19: "raced",  # a constraint
}
# The codes of PostgreSQL, by their first letters: its appendix A.
_SQLSTATES: dict[str, Trouble] = {
    "08": "away",
    "57P": "away",  # shutting down, crashed, starting up
    "53300": "away",  # too many connections
    "53100": "full",
    "40": "busy",  # a deadlock or a conflict
    "55P03": "busy",
    "25006": "read-only",
    "23505": "raced",
    "42P07": "raced",
    "42710": "raced",
}
_ERRNOS: dict[int, Trouble] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "read-only",
    errno.EPERM: "read-only",
}


def trouble(error: BaseException) -> Trouble:
    """The kind of failure, by classes and codes: words in messages mislead."""
    for each in _chain(error):
        found = _trouble(each)
        if found != "other":
            return found
    return "other"


def _trouble(error: BaseException) -> Trouble:
    if isinstance(error, PendingRollbackError):  # what a lost connection leaves behind
        return "away"
    if isinstance(error, PoolTimeout):
        return "busy"
    if isinstance(error, OSError):
        return _ERRNOS.get(error.errno or 0, "other")
    if not isinstance(error, DBAPIError):
        return "other"
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF, "other")
    state = getattr(error.orig, "sqlstate", None)
    for prefix, found in _SQLSTATES.items():
        if state is not None and state.startswith(prefix):
            return found
    # a server that cannot be reached has no code to give
    unreached = state is None and isinstance(error, (OperationalError, InterfaceError))
    return "away" if error.connection_invalidated or unreached else "other"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def open_database(url: str, patience: float = 0.0) -> RDBStorage:
    """The database with Optuna's tables, which are made where there are none.

    Several processes may do that at the same moment: the second one tries again.
    """
    for left in reversed(range(RACES)):
        try:
            return _until_it_is_back(lambda: _connected(url), lambda: patience)
        except SQLAlchemyError as error:
            # SQLite says no more than "error" where a table is there already
            if not left or trouble(error) not in ("raced", "busy", "other"):
                raise
            time.sleep(random.uniform(0.02, 0.2))
    raise AssertionError("the last attempt returns or raises")


def kept_database(url: str, patience: float = 0.0) -> RDBStorage | None:
    """The database if it is there with Optuna's tables; nothing is written to look for it."""
    place = database_file(url)
    if place is not None and not place.exists():
        return None
    return _until_it_is_back(lambda: _connected_to_kept(url), lambda: patience)


def database_file(url: str) -> Path | None:
    """The file of a SQLite database; None: it is elsewhere."""
    parsed = make_url(url)
    in_file = parsed.drivername.startswith("sqlite") and parsed.database not in (None, ":memory:")
    return Path(str(parsed.database)) if in_file else None


def _connected(url: str) -> RDBStorage:
    engine = _engine(url)
    with _closed_if_it_fails(engine):
        return _storage(engine)


def _connected_to_kept(url: str) -> RDBStorage | None:
    engine = _engine(url)
    with _closed_if_it_fails(engine):
        if _revision(engine) is not None:
            return _storage(engine)
    engine.dispose()
    return None


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.drivername.startswith("sqlite"):
        return create_engine(parsed, connect_args={"timeout": SQLITE_PATIENCE})
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    return create_engine(parsed, pool_pre_ping=True)


def _storage(engine: Engine) -> RDBStorage:
    """Optuna's storage; its tables are made where there are none.

    Optuna reads all its migrations to see whether the tables are of this version: as long as all
    else that a command does. It is asked once for each revision of the tables.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    found = _revision(engine)
    if found is None:
        _made(engine, kept=False, known=True)
        # as a rule by us; another process, with another version, may have been quicker
        found = _revision(engine)
    storage = _made(engine, kept=True, known=found in _KNOWN)
    _KNOWN.add(found)
    return storage


_KNOWN: set[str | None] = set()  # revisions of tables that the Optuna of this process accepts


def _made(engine: Engine, *, kept: bool, known: bool) -> RDBStorage:
    # a pool of ours, since that of a storage that could not be made would stay open
    storage = RDBStorage(
        engine.url.render_as_string(hide_password=False),
        engine_kwargs={"pool": engine.pool},
        skip_table_creation=kept,
        skip_compatibility_check=known,
    )
    event.listen(storage.engine, "begin", _one_at_a_time)
    return storage


# Whether a call that writes is under way.
_WRITES: ContextVar[bool] = ContextVar("writes", default=False)
# What a transaction that writes does first, so that no other one writes until it has ended. Optuna
# looks whether a trial has ended before it changes it: on SQLite without any lock, on PostgreSQL
# without one where it sets an attribute.
_ALONE = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": (
        f"SELECT set_config('lock_timeout', '{SQLITE_PATIENCE:.0f}s', true), "
        "pg_advisory_xact_lock(5573219049)"  # any number, the same for all
    ),
}


def _one_at_a_time(connection: Connection) -> None:
    """Make a transaction that writes wait for the others."""
    first = _ALONE.get(connection.dialect.name)
    if _WRITES.get() and first is not None:
        connection.exec_driver_sql(first)


def _revision(engine: Engine) -> str | None:
    """The revision of Optuna's tables; None: there are none, or not all yet."""
    if not inspect(engine).has_table("alembic_version"):  # the last one that is made
        return None
    with engine.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None if found is None else str(found)


@contextmanager
def _closed_if_it_fails(engine: Engine) -> Iterator[None]:
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def database_time(engine: Engine) -> float:
    """Seconds since 1970 by the clock of the database server, which all workers share.

    A SQLite file is on this machine, and has its clock.
    """
    query = {
        "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
        "mysql": "SELECT unix_timestamp(now(6))",
        "mariadb": "SELECT unix_timestamp(now(6))",
    }.get(engine.dialect.name)
    if query is None:
        return time.time()
    with engine.connect() as connection:
        return float(connection.execute(text(query)).scalar_one())


class PatientDatabase:
    """Optuna's storage, whose every call waits while the database is away or busy.

    Each call waits for at most `patience` seconds; 0: it does not wait.
    """

    def __init__(
        self,
        database: RDBStorage,
        failures: Callable[[], AbstractContextManager[None]],
        patience: float,
    ) -> None:
        self.database = database
        self.patience = patience
        self.listener: Listener | None = None  # of those who end trials of others
        self.storage: BaseStorage = _Waiting(self, optuna.storages.get_storage(database))
        self._failures = failures

    def now(self) -> float:
        return self.call(lambda: database_time(self.database.engine))

    def call(self, operation: Callable[[], T]) -> T:
        # A read of SQLite that an interrupt leaves half done keeps all writers waiting, and a
        # session in the middle of a change cannot be closed. A server may hang: that must end.
        whole = deferred if self.database.engine.dialect.name == "sqlite" else nullcontext

        def once() -> T:
            try:
                with whole():
                    return operation()
            except BaseException:
                # a session of a lost connection is of no use, and one that was interrupted may
                # hold a lock that others wait for
                with suppress(Exception):
                    self.database.remove_session()
                raise

        with self._failures():
            return _until_it_is_back(once, lambda: self.patience)


def _until_it_is_back(operation: Callable[[], T], patience: Callable[[], float]) -> T:
    begun, pause, waiting = time.monotonic(), PAUSES[0], False
    while True:
        try:
            result = operation()
        except Exception as error:
            found = trouble(error)
            if found not in PASSING or time.monotonic() - begun >= patience():
                raise
            if not waiting:
                seconds = f"{patience():.0f} s"
                say(f"the database is {found}; waiting for up to {seconds}: {reason(error)}")
            waiting = True
            # not all workers at the same moment
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, PAUSES[1])
        else:
            if waiting:
                say(f"the database is back, after {time.monotonic() - begun:.0f} s")
            return result


def reason(error: BaseException) -> str:
    """The message of the database itself, in one line."""
    deepest = error
    while deepest.__cause__ is not None:
        deepest = deepest.__cause__
    return _line(getattr(deepest, "orig", None) or deepest)


def _line(error: BaseException) -> str:
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _waiting(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = _WRITES.set(name.startswith(("create_", "set_", "delete_")))
        try:
            return self.patient.call(lambda: getattr(self.inner, name)(*args, **kwargs))
        finally:
            _WRITES.reset(token)

    call.__name__ = name
    return call


def _begin(self: Any, patient: PatientDatabase, inner: BaseStorage) -> None:
    self.patient, self.inner = patient, inner


# Every method that Optuna asks of a storage, in the version that is installed.
_Waiting: Any = type(
    "_Waiting",
    (BaseStorage,),
    {
        "__init__": _begin,
        **{
            name: _waiting(name)
            for name in (
                *sorted(BaseStorage.__abstractmethods__),
                "get_trial_id_from_study_id_trial_number",
                "get_best_trial",
                "remove_session",
            )
        },
    },
)
