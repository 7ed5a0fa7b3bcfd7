"""Base of every record: immutable, and strict about its keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """An immutable record; an unknown key is an error, so that a reader never overlooks what a writer says."""

    model_config = ConfigDict(frozen=True, extra="forbid")
