"""GPUs as people write them: 1/3, 0x0103, or the slot alone in the switch's own rack."""

import re
from typing import Callable, List, Optional

from cnuaslink_cli.failures import Misused

FORMS = "write 1/3 (rack/slot), 0x0103, or 3 for a slot of the switch's own rack"


def parse_gpu(text: str, own_rack: Callable[[], Optional[int]]) -> int:
    """The ID. `own_rack` is asked only when it matters."""
    pair = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", text)
    if pair:
        return _id(int(pair[1]), int(pair[2]), text)
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,4}", text):
        value = int(text, 16)
        return _id(value >> 8, value & 0xFF, text)
    if re.fullmatch(r"[0-9]{1,3}", text):
        rack = own_rack()
        if rack is None:
            raise Misused(f"'{text}' names no GPU: this switch belongs to no rack", "write rack/slot as in 1/3")
        return _id(rack, int(text), text)
    raise Misused(f"'{text}' is not a GPU", FORMS)


def parse_gpus(text: str, own_rack: Callable[[], Optional[int]]) -> List[int]:
    return [parse_gpu(each.strip(), own_rack) for each in text.split(",")]


def _id(rack: int, slot: int, text: str) -> int:
    if rack > 255 or slot > 255:
        raise Misused(f"'{text}' is not a GPU: racks and slots go from 0 to 255")
    value = rack << 8 | slot
    if value in (0x0000, 0xFFFF):
        raise Misused(f"'{text}' is not a GPU: its ID 0x{value:04X} is reserved")
    return value
