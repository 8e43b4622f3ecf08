"""JUnit XML becomes items: file, suites, test cases."""

from __future__ import annotations

import xml.parsers.expat

from plumbline_sdk import InputFile, Item, Output, Plugin, ReadError, Status, post_processor

from report import NotJunit, Report

# The number of bytes that are read at a time.
CHUNK = 1 << 20


@post_processor
def process(plugin: Plugin, files: list[InputFile], out: Output) -> None:
    for file in files:
        report = Report(file, out)
        parser = xml.parsers.expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = report.start
        parser.EndElementHandler = report.end
        parser.CharacterDataHandler = report.text
        try:
            while data := file.read1(CHUNK):
                parser.Parse(data, False)
            parser.Parse(b"", True)
            report.finish()
        except (xml.parsers.expat.ExpatError, ReadError, NotJunit) as error:
            report.break_off(str(error))
