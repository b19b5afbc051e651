"""Numbers of people and accounts: payment cards, bank accounts, social security."""

from __future__ import annotations

import re

from mnemic.safety.secrets.pattern import Match, Pattern
from mnemic.safety.secrets.values import is_card, is_iban

__all__ = ["NUMBERS"]

_BREAK = r"[ .-]{0,2}\n? {0,2}"
_SSN = r"(?P<secret>(?P<area>\d{3})[- ]?(?P<group>\d{2})[- ]?(?P<serial>\d{4}))"
_SSN_NAME = r"(?:ssn|social[ _-]security(?:[ _-](?:number|no\.?|#))?|social[ _-]insurance[ _-]number|itin|tax[ _-]id)\b"
_OTHER = re.compile(
    r"(?i)(?:order|tracking|invoice|parcel|shipment|serial|reference|ref|isbn|imei|ticket|booking|item|sku|case|build)"
    r"(?:\s?(?:number|no\.?|nr\.?|id|code|#))?\s?[:#]?\s{0,2}#?$"
)


def _is_card(match: Match) -> bool:
    """A card, unless the word before says that the number is another one."""
    if not is_card(re.sub(r"\D", "", match[0])) or _in_columns(match):
        return False
    return _OTHER.search(match.string, max(0, match.start() - 30), match.start()) is None


def _in_columns(match: Match) -> bool:
    """Whether the groups of a number that goes over a line may be those of a table: more of them stand around it."""
    if (lines := match[0].count("\n")) == 0:
        return False
    around = match.string[max(0, match.start() - 6) : match.start()], match.string[match.end() : match.end() + 6]
    return lines > 1 or any(re.search(r"\d{3}", text) for text in around)


def _is_iban(match: Match) -> bool:
    return is_iban(match[0].replace(" ", "").upper())


def _is_issued(match: Match) -> bool:
    area, group, serial = (match[name] for name in ("area", "group", "serial"))
    return area not in ("000", "666") and not area.startswith("9") and group != "00" and serial != "0000"


NUMBERS: tuple[Pattern, ...] = (
    Pattern(
        kind="card-number", needles=(), holds=_is_card, anywhere=True,
        regex=re.compile(
            rf"(?<![\d.,_/=-])(?<![A-Za-z])\d{{4}}(?:{_BREAK}\d{{4}}{_BREAK}\d{{4}}{_BREAK}\d{{1,7}}|{_BREAK}\d{{6}}{_BREAK}\d{{4,5}})"
            r"(?![\d_]|[.,-]\d)"
        ),
    ),
    Pattern(
        kind="iban", needles=(), holds=_is_iban, anywhere=True,
        regex=re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"),
    ),
    Pattern(
        kind="us-ssn", needles=(), holds=_is_issued, anywhere=True,
        regex=re.compile(
            rf"(?i)\b{_SSN_NAME}[^\d\n]{{0,20}}{_SSN}(?![\d-])"
        ),
    ),
    Pattern(
        kind="us-ssn", needles=(), holds=_is_issued, anywhere=True,
        regex=re.compile(rf"(?i)(?<![\d-]){_SSN}\)?\s(?:is|was|as|for)\s(?:my|the|our|his|her|their|your)\s(?:\w{{1,20}}\s)?{_SSN_NAME}"),
    ),
)  # fmt: skip
"""Tried where a text holds nine digits or more in a row, with at most three other signs between two."""
