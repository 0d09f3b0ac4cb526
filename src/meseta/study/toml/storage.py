"""The storage of a study: a SQLite file beside it, or a database by its URL."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_SQLITE = "sqlite:///"
_IN_MEMORY = re.compile(r":memory:|[?&]mode=memory\b|^sqlite(\+\w+)?:///?(\?|$)")
_SCHEME = re.compile(r"[a-z][a-z0-9+]+:(?!//)")  # of one letter it is a drive
_TWO_AT = re.compile(r"[^/]*://[^/]*@[^/]*@")
PREFIX = "MESETA_"
ALLOWED = "MESETA_ALLOW_ENV"  # names of more variables that study files may use, with commas


def storage_url(
    storage: str | None, path: Path, environment: Mapping[str, str] | None = None
) -> str:
    """The URL of the database of the study in the file at `path`, for SQLAlchemy.

    None is a SQLite file beside the study's. A path is that of a SQLite file; where it is relative,
    also in sqlite:///..., it starts from the folder of the study, wherever we are. ${NAME} stands
    for an environment variable; between :// and @, where user and password are, its value is
    escaped as URLs need it. Only variables that start with MESETA_, or that MESETA_ALLOW_ENV lists,
    are read: a file from elsewhere must not send other secrets to a server of its choice.
    """
    if storage is None:
        return _sqlite(path.with_suffix(".db"), path)
    filled = _filled(storage, os.environ if environment is None else environment)
    _check_address(filled)
    if "://" not in filled:
        return _sqlite(path.parent / filled, path)
    if filled.startswith(_SQLITE):
        file, *rest = filled.removeprefix(_SQLITE).split("?", 1)
        return "?".join([_sqlite(path.parent / file, path), *rest])
    return filled


def check_storage(storage: str) -> None:
    """Refuse mistakes that show without the environment."""
    for name in _VARIABLE.findall(storage):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError(f"must name variables as in ${{MESETA_PASSWORD}}, got ${{{name}}}")
    if "${" in _VARIABLE.sub("", storage):
        raise ValueError("must close every ${ with }, as in ${MESETA_PASSWORD}")


def _check_address(storage: str) -> None:
    """Refuse what would be another database than meant, or none that lasts. No value is shown."""
    if "\0" in storage:
        raise ValueError("it must not have the character NUL")
    if _IN_MEMORY.search(storage):
        raise ValueError(
            "it would be a database in memory, whose trials are lost when the command ends; name a "
            "file, such as press.db"
        )
    if _SCHEME.match(storage):
        raise ValueError(
            "an address has :// after its first word, as in sqlite:///press.db; a file has a path "
            "alone"
        )
    if _TWO_AT.match(storage):
        raise ValueError(
            "there are two @ before the host; write that of a user or a password as %40, or name a "
            "variable, ${MESETA_PASSWORD}, whose value may have any letters"
        )
    if "://" in storage:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            make_url(storage)
        except (ArgumentError, ValueError):  # which may have the password in its message
            raise ValueError(
                "it is no address of a database, such as "
                "postgresql://user:${MESETA_PASSWORD}@host:5432/name"
            ) from None


def _filled(storage: str, environment: Mapping[str, str]) -> str:
    authority = re.match(r"[^/]*://[^/]*@", storage)

    allowed = {name.strip() for name in environment.get(ALLOWED, "").split(",")}

    def value(match: re.Match[str]) -> str:
        if not match[1].startswith(PREFIX) and match[1] not in allowed:
            raise ValueError(
                f"it asks for the environment variable {match[1]}, but a study file gets only "
                f"those that start with {PREFIX}, since others may be secrets that are not meant "
                f"for it; rename it to {PREFIX}{match[1]}, or, if you trust the file, allow it: "
                f"export {ALLOWED}={','.join(sorted((allowed - {''}) | {match[1]}))}"
            )
        if match[1] not in environment:
            raise ValueError(
                f"it needs the environment variable {match[1]}, which is not set; set it, for "
                f"instance: export {match[1]}=..."
            )
        inside = authority is not None and match.end() <= authority.end()
        return quote(environment[match[1]], safe="") if inside else environment[match[1]]

    return _VARIABLE.sub(value, storage)


def _sqlite(file: Path, study: Path) -> str:
    if os.path.abspath(file) == os.path.abspath(study):
        raise ValueError(
            "it would be the study file itself; rename that to end in .toml, or set storage to "
            "another file"
        )
    if os.path.isdir(file):
        raise ValueError("it would be a folder; name a file in it")
    name = Path(os.path.abspath(file)).as_posix()
    if re.search(r"\?|%[0-9A-Fa-f]{2}", name):  # versions of SQLAlchemy differ in what %20 means
        raise ValueError(
            f"it would be the SQLite file {name!r}, but a question mark, or % with digits, has "
            "another meaning in a URL; rename the file or folder, or set storage"
        )
    return _SQLITE + name
