"""What a page lists, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import cast

from starlette.responses import JSONResponse, Response

from mnemic.text.values import jsonable

FORMS = ("json", "csv")


def table(rows: Sequence[object], form: str) -> Response:
    """Records, hits or events as a file.

    In CSV a value that is not text is written as JSON, and a text that a spreadsheet would run as a formula begins with
    an apostrophe.

    Args:
        rows: dataclasses or mappings.
        form: one of ``FORMS``.
    """
    listed = [cast("Mapping[str, object]", jsonable(row)) for row in rows]
    if form == "json":
        return JSONResponse(listed)
    columns = list(dict.fromkeys(name for row in listed for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in listed)
    return Response(
        text.getvalue(), media_type="text/csv", headers={"content-disposition": 'attachment; filename="mnemic.csv"'}
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@")) else value
