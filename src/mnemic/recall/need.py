"""Whether a text needs memory: "go on", "tell me a joke" and "translate this" do not.

A logistic regression on the vector of the default embedder. Fitted on 2,562 texts to an assistant, written by three authors
who knew no code (``python -m benchmarks.quality.need_fit``).
"""

from __future__ import annotations

from mnemic.vectors import Floats, LinearProbe

PROBE = LinearProbe(
    "3L5wOce56jbnPec/mDzaPTe85zhwwEw85rjhvcJCDbwtQR6/4TplnNzAEzzDHQ84sbvnPrkytSv3NsK8SD2/vhK6ZjSyqNm8F0LWtbi8LryzOnC3j7WEth"
    "QuRbvsOjO+40BmQYE/ycDYP3u5/bzwObg9PTuwwCC47jiQvQQ5HUDxvw66zrxeNtBB8LyVuf296kBWKFEzyzTHQPo4/zy8w6U0UMC5vHqosj+xPny1YkB5"
    "OTsu8kH/wIq+/jhAthE98Ly8NUVAP79NtEQ9AjiptE067rbBPCm0ukCYPYI0nS79uHixGDw+wYo/j7lwMz+2w6yvNwe7KbuHugJD6zQAgFu5AkGsMXM8Nk"
    "E3OAk9Wrf0unjCUTVzsDq7M8CjwIw4iLyQvTS8ITnDOBG+k6cLPXs7JDgSuNY0wrSbt1XBszsSQCm/5rzCuHnA6bgrNEu5iz5zNi49M7tNPnS8dj6+P3U8"
    "wr/nuHa+T6uKruq5/bshMOi/bzwtwDk5Zb3Fv306p730vmXAdLg6uugyCb5pufO9rbzmPGM0nLyJPqi+T72LQF89VjSHP848ljWDtSBAKbz4Oxm2fS+gMM"
    "g4m0AAAIS4872cO53DAUG/NFm6ChUVu+e8WkAcPK484Tc5u0M64b4ctmM9wyx8u+w79Dg8OrxAw7HXOGY0Lrm4vDu91r9QNN83a7IGvP7Aoz2cvxg6Mj8x"
    "uTEsMKzgsZI5QLA+vPg/0bYdOm20Q7zNuwI8dTQXNwy+47IKPuK0CD1Hvku0jDgquIkzG8PTtng7A78juugq+7whPrY+Dr7nuu66vzS/Ose8asAuPRRBPj"
    "xqQDI22DmXPfY8VLDuwgS5gSwNAP06WrhVuAU+VjSXu8+8ZT55unhAtr6PNKQ6TrwiNs+4Azw6ugLA1rpDJZcxPT+/veaz5rGRQGQ+a7aqQTM2fzsWPGq5"
    "d7/othHC6rMtOdA/RLU+vnM9BbgCuFw3iMG9ONQ5YLy3vcC3PTqWQOw9Gzq0voWtIjCNOg3Bdb++xHC5vbc="
)


def need(vector: Floats, model: str | None) -> float:
    """The log odds that a text needs memory, at most 0: most texts may.

    Args:
        vector: of the text as a query, shape (384,).
        model: id of its embedder; 0 with one that the weights were not fitted on.
    """
    return min(0.0, float(PROBE.log_odds(vector[None], model)[0]))
