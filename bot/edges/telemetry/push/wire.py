"""What a guest sends: the models of one reading (schema 1), checked as strictly as a stranger's word deserves.

Called by the router. Types must be right, numbers finite and not negative: else the whole reading is refused and the field named. Whether a
number makes sense is asked later (``told``), field by field. Fields that are not known are ignored: a newer agent may tell more.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

Word = Annotated[str, Field(max_length=500)]
Number = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    """A part of a reading."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)


class LoginIn(_Part):
    """Somebody logged in."""

    user: Word
    since: AwareDatetime
    idle_s: Number | None = None


class JobIn(_Part):
    """Something that runs."""

    pid: Count
    user: Word
    name: Word
    since: AwareDatetime
    gpu: bool


class ProcessIn(_Part):
    """A process on a card."""

    pid: Count
    user: Word
    name: Word
    mem_mb: Number | None = None
    cpu: Number | None = None
    reads: bool | None = None
    graphics: bool | None = None


class CardIn(_Part):
    """A card that the guest sees."""

    uuid: Word
    name: Word
    pci: Word | None = None
    line: Word | None = None
    can: Annotated[tuple[Word, ...], Field(max_length=64)] | None = None
    measured_s: Number | None = None
    busy_s: Number | None = None
    util_max: Number | None = None
    util_mean: Number | None = None
    encode_max: Number | None = None
    decode_max: Number | None = None
    active_max: Number | None = None
    energy_j: Number | None = None
    power_w: Number | None = None
    mem_used_mb: Number | None = None
    mem_total_mb: Number | None = None
    mem_reserved_mb: Number | None = None
    processes: Annotated[tuple[ProcessIn, ...], Field(max_length=256)] | None = None
    fault: Word | None = None
    xid: Count | None = None
    persistence: bool | None = None
    virtual: Word | None = None
    licence: Word | None = None
    mig: bool | None = None
    ecc: bool | None = None


class DoneIn(_Part):
    """``gpu done`` was said."""

    user: Word
    ago_s: Number


class CheckIn(_Part):
    """A check that a card computes has ended."""

    exit: Annotated[int, Field(ge=0, le=255)]
    line: Word
    ago_s: Number


class ReadingIn(_Part):
    """One reading, as it is sent (schema 1)."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    boot_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")]
    seq: Annotated[int, Field(ge=0, le=2**31 - 1)]
    taken: AwareDatetime
    interval_s: Annotated[float, Field(gt=0, le=86400)]
    agent: Word | None = None
    agent_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")] | None = None
    age_s: Number | None = None
    allows: Annotated[tuple[Word, ...], Field(max_length=64)] | None = None
    state: Literal["running", "stopping"] = "running"
    logins: Annotated[tuple[LoginIn, ...], Field(max_length=256)] | None = None  # None: left out, so not known
    jobs: Annotated[tuple[JobIn, ...], Field(max_length=512)] | None = None  # likewise
    load1: Number | None = None
    cpus: Count | None = None
    driver: Word | None = None
    no_driver: Word | None = None
    done: DoneIn | None = None
    check: CheckIn | None = None
    cards: Annotated[tuple[CardIn, ...], Field(max_length=64)] = ()


def faults(error: ValidationError) -> list[dict[str, str]]:
    """What is wrong and where, without repeating what was sent."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return [{"where": ".".join(str(p) for p in f["loc"]) or "body", "what": f["msg"]} for f in found[:20]]
