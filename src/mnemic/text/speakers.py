"""Speakers as they are shown: nobody passes for another, or for a role, by a name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from mnemic.text.markup import code_points, revealed, visible
from mnemic.types import Hit, MemoryRecord, Message, Source
from mnemic.types.literals import ROLES

A_NAME = " (a name)"
"""Stands behind a name that reads like a role."""

_UNSEEN = re.compile(r"[^\S ]|^ +| +$|(?<= ) +|[:\uff1a](?=\s|$)")
"""White space that one line loses, and a colon that would end the name."""
_ROLE_OF_SOURCE: Mapping[Source, str] = {"direct_user": "user", "model_inference": "assistant"}
"""Whose words a memory is: its role is not stored."""


def speaker_label(of: Message | Hit | MemoryRecord) -> str:
    """The name of who said something, else the role; empty if neither is known.

    What nobody would see in a name is shown by its code point, as in ``Ana[U+200B]``. The word of a role that is not the
    speaker's own is called a name, as in ``system (a name)``; so is a name that ends with it in parentheses.
    """
    if isinstance(of, Message):
        name, role = of.name or of.role, of.role
    else:
        name, role = of.speaker or "", getattr(of, "role", None) or _ROLE_OF_SOURCE.get(of.source, "")
    label = _UNSEEN.sub(code_points, revealed(name))
    return label if _role_in(name) in (None, _role_in(role)) else f"{label}{A_NAME}"


def _role_in(name: str) -> str | None:
    """The role that a name claims; None for none."""
    plain = visible(unicodedata.normalize("NFKC", name)).casefold()
    words = re.findall(r"[^\W_]+", plain)
    return ROLES.get("_".join(words[-1:] if re.search(r"[)\]}]\W*$", plain) else words))
