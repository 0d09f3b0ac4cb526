"""The base of all tables of a study file: strict types, frozen, no unknown keys."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from meseta.boundary import unknown
from meseta.optimizer.words_elsewhere import MEANT

Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Rows = Annotated[tuple[Numbers, ...], Field(strict=False)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Text = Annotated[str, Field(pattern=r"\S")]  # not empty


def refusal(says: str, key: str | None = None) -> PydanticCustomError:
    """An error whose text follows the place; `key` names the place inside the table."""
    context = {"says": says} | ({} if key is None else {"key": key})
    return PydanticCustomError("refused", "{says}", context)


class Table(BaseModel):
    """A table that refuses unknown keys before anything else: they explain what is missing."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, table: Any) -> Any:
        if isinstance(table, dict):
            for name in table:
                if name not in cls.model_fields:
                    raise refusal(
                        f"is not known: {unknown('key', name, cls.model_fields, MEANT)}", name
                    )
        return table
