import os
import tempfile
import unittest

from plumbline_sdk import (
    Attributes,
    Connection,
    Context,
    Item,
    NetworkError,
    NetworkErrorKind,
    NotFound,
    NotGranted,
    Output,
    Plugin,
    Response,
    Status,
    Target,
    Trust,
    check,
)
from plumbline_sdk.testing import Case

REFUSED = NetworkError(NetworkErrorKind.REFUSED, "refused")


def status(result) -> Status:
    if not isinstance(result, NetworkError):
        return Status.PASSED
    return Status.FAILED if result.is_of_target else Status.UNKNOWN


@check
def reach(plugin: Plugin, context: Context, out: Output) -> None:
    response = context.send("https://a.example/", trust=Trust.ANY)
    out.emit(Item(f"{response.status} {response.header('server')} {response.header('x')}", 0, Status.PASSED))
    # More than one chunk of the host.
    targets = [Target("192.0.2.1", port) for port in range(1030)]
    results = context.connect(targets, wait=1.0)
    for port in (443, 22, 1029):
        out.emit(Item(f"{port}", 0, status(results[port])))
    out.emit(Item(" ".join(context.resolve("a.example")), 0, Status.PASSED))
    context.resolve("b.example")


@check
def owners(plugin: Plugin, context: Context, out: Output) -> None:
    for path in ("/etc/key", "/etc", "/etc/none", "/var"):
        try:
            about = context.attributes(path)
            out.emit(Item(f"{path} {about.permissions:o} {about.uid} {about.gid}", 0, Status.PASSED))
        except (NotFound, NotGranted) as error:
            out.emit(Item(type(error).__name__, 0, Status.UNKNOWN))


class Network(unittest.TestCase):
    def test_a_check_reaches_what_the_case_grants(self):
        case = (
            Case()
            .response("GET", "https://a.example/", Response(503, headers=(("server", "b"),)))
            .name("a.example", ["192.0.2.1"])
            .connection("192.0.2.1", 443, Connection("192.0.2.1:443", 0.001))
            .connection("192.0.2.1", 22, REFUSED)
        )
        run = case.check(reach)
        self.assertEqual(run.outline(), "503 b None: passed\n443: passed\n22: failed\n1029: unknown\n192.0.2.1: passed\n")
        self.assertEqual(run.error, "the case does not grant `b.example`: add it with `Case.name`")
        self.assertRaises(ValueError, Target, "192.0.2.1", 70000)
        self.assertEqual(case.response("GET", "https://a.example/", REFUSED).check(reach).error, "refused")

    def test_a_check_reads_owners_and_modes(self):
        with tempfile.TemporaryDirectory() as place:
            open(os.path.join(place, "key"), "w").close()
            run = Case().node_directory("/etc", place).attributes("/etc/key", Attributes(0o100600, 1, 2)).check(owners)
        self.assertEqual(run.outline(), "/etc/key 600 1 2: passed\n/etc 755 0 0: passed\nNotFound: unknown\nNotGranted: unknown\n")


if __name__ == "__main__":
    unittest.main()
