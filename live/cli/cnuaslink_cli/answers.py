"""The results of docs/management.md. Fields that are not known here are passed over; one that is missing, or of
another type, breaks the contract."""

from typing import Dict, List, Literal, Optional, Type, TypeVar, Union

from pydantic import BaseModel, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError, conint

from cnuaslink_cli.failures import ContractBroken

Count = conint(strict=True, ge=0)
Number = Union[StrictFloat, StrictInt]
Role = Literal["gpu", "inter_switch"]


class Gpu(BaseModel):
    name: StrictStr
    id: conint(strict=True, ge=1, le=65534)


class Totals(BaseModel):
    rx_frames: Count
    rx_bytes: Count
    tx_frames: Count
    tx_bytes: Count
    rx_drops: Count
    tx_drops: Count
    collective_reduce_count: Count
    collective_gather_count: Count
    latency_us_p50: Optional[Number] = None
    latency_us_p99: Optional[Number] = None
    latency_count: Count


class Peer(BaseModel):
    pid: StrictInt
    uid: Count
    gid: Count
    connected_s: Number


class Port(BaseModel):
    port: Count
    role: Role
    state: Literal["up", "down", "admin_down", "stalled"]
    presence: Optional[Literal["present", "silent", "absent", "not_expected"]] = None
    expected: Optional[Gpu] = None
    gpu: Optional[Gpu] = None
    admin_up: StrictBool
    link_up: StrictBool
    stalled: StrictBool
    ingress_paused: StrictBool
    byte_order: Literal["big", "little"]
    queued_frames: Count
    queued_bytes: Count
    queue_bytes: Count
    socket: Optional[StrictStr] = None
    dials: Optional[StrictStr] = None
    peer: Optional[Peer] = None
    connections: Count
    refused_busy: Count
    refused_identity: Count
    counters: Totals


class PortStatus(BaseModel):
    ports: List[Port]


class LinkState(BaseModel):
    changed: StrictBool
    status: Port


class FdbEntry(BaseModel):
    gpu: Gpu
    port: Count
    role: Role
    origin: Literal["configured", "learned"]


class FdbPage(BaseModel):
    size: Count
    entries: List[FdbEntry]
    next: Optional[Gpu] = None


class Group(BaseModel):
    id: conint(strict=True, ge=1)
    name: StrictStr
    members: List[Gpu]


class OneGroup(BaseModel):
    group: Group


class GroupPage(BaseModel):
    size: Count
    groups: List[Group]
    next: Optional[Count] = None


class TypeCounters(BaseModel):
    rx_frames: Count
    rx_bytes: Count
    rx_dropped: Count
    consumed: Count
    forwarded: Count
    copies: Count
    own: Count
    carried_over: Count
    offered: Count
    tx_frames: Count
    tx_bytes: Count
    tx_dropped: Count
    queued: Count


class ByType(BaseModel):
    DATA: TypeCounters
    DOORBELL: TypeCounters
    ATOMIC: TypeCounters
    COLLECTIVE_REDUCE: TypeCounters
    COLLECTIVE_GATHER: TypeCounters
    DISCOVERY: TypeCounters
    LINK_KEEPALIVE: TypeCounters
    INVALID: TypeCounters


class PortTelemetry(Totals):
    port: Count
    role: Role
    queued_frames: Count
    queued_bytes: Count
    by_type: ByType
    rx_drops_by_reason: Dict[StrictStr, Dict[StrictStr, Count]]
    tx_drops_by_reason: Dict[StrictStr, Dict[StrictStr, Count]]


class Telemetry(BaseModel):
    counting_s: Number
    ports: List[PortTelemetry]


class Nothing(BaseModel):
    pass


class PeerPlace(BaseModel):
    gpu: Gpu
    port: Optional[Count] = None
    place: Optional[Literal["local", "remote"]] = None


class PeerRoute(BaseModel):
    a: PeerPlace
    b: PeerPlace
    transport: Literal["ivshmem", "switch", "none"]
    reason: StrictStr
    reason_code: Optional[StrictStr] = None
    ivshmem_socket: Optional[StrictStr] = None
    region_bytes: Optional[Count] = None


class Finding(BaseModel):
    severity: Literal["error", "warning", "note"]
    code: StrictStr
    port: Optional[Count] = None
    gpu: Optional[Gpu] = None
    reason: Optional[StrictStr] = None
    frames: Optional[Count] = None
    message: StrictStr


class Health(BaseModel):
    status: Literal["ok", "degraded", "failed"]
    findings: List[Finding]


class Version(BaseModel):
    program: StrictStr
    version: StrictStr
    api: Count
    frame_version: Count
    name: StrictStr
    rack: Optional[conint(strict=True, ge=1, le=255)] = None
    ports: Count
    pid: StrictInt
    run_dir: StrictStr
    config: Optional[StrictStr] = None
    uptime_s: Number
    reloads: Count
    draining: StrictBool
    commands: List[StrictStr]


Answer = TypeVar("Answer", bound=BaseModel)


def read(model: Type[Answer], command: str, result: dict) -> Answer:
    try:
        return model.parse_obj(result)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        more = len(error.errors()) - 1
        others = f", and {more} more" if more else ""
        raise ContractBroken(f"the answer to {command} is not as agreed: {place}: {first['msg']}{others}") from None
