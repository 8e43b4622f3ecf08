"""Reads `*.verdicts` files. Each line is the result of a check: `ok NAME` or `bad NAME: reason`."""

from typing import Optional

from plumbline_sdk import InputFile, Item, Output, Plugin, ReadError, Status, post_processor

STATUS = {"ok": Status.PASSED, "bad": Status.FAILED}


@post_processor
def process(plugin: Plugin, files: list[InputFile], out: Output) -> None:
    for file in files:
        # No status: the host rolls it up from the children.
        out.emit(Item(file.file_name, meta={"file": file.path, "type": "file"}))
        try:
            for line in file.lines():
                item = verdict(line)
                if item:
                    out.emit(item)
        except ReadError as error:
            # Continue with the next file, but never let an unreadable one pass.
            out.emit(Item("unreadable", 1, Status.UNKNOWN, {"error": error}))


def verdict(line: str) -> Optional[Item]:
    word, _, rest = line.strip().partition(" ")
    name, _, reason = rest.partition(":")
    if not name.strip():
        return None
    return Item(name.strip(), 1, STATUS.get(word, Status.UNKNOWN), details={"failure": reason.strip() or None})
