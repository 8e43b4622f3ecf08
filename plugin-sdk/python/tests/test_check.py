import os
import tempfile
import time
import unittest
from datetime import datetime, timezone

from plumbline_sdk import Context, FileType, Item, NotFound, NotGranted, Output, Plugin, Status, check
from plumbline_sdk.testing import Case


@check
def inventory(plugin: Plugin, context: Context, out: Output) -> None:
    directory = plugin.options.get("directory", "/etc/app")
    for entry in context.listdir(directory):
        path = f"{directory}/{entry.name}"
        try:
            out.emit(Item(entry.name, 0, Status.PASSED, details={"content": context.read_text(path), "size": str(context.stat(path).size)}))
        except OSError as error:
            out.emit(Item(entry.name, 0, Status.UNKNOWN, {"error": str(error)}))
    context.progress(1, 2, "files")
    for pod in context.objects("v1", "pods", namespace="kube-system"):
        name = pod["metadata"]["name"]
        known = context.object("v1", "pods", name, namespace="kube-system") and not context.object("v1", "pods", "nobody")
        out.emit(Item(name, 0, Status.PASSED if known else Status.FAILED))
    out.emit(Item(f"{context.env('CLUSTER')} {context.env('HOME')} {context.now().year}", 0, Status.PASSED))


@check
def streams(plugin: Plugin, context: Context, out: Output) -> None:
    with context.open("/proc/swaps") as file:
        for line in file.lines():
            out.emit(Item(line, 0, Status.PASSED))
    context.read_bytes("/proc/swaps", limit=3)


class Checks(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.app = os.path.join(place.name, "app")
        os.makedirs(os.path.join(self.app, "sub"))
        os.mkdir(f"{self.app}-2")
        for name, content in (("app/b", b"text"), ("app/a", b"\xff"), ("secret", b"secret")):
            with open(os.path.join(place.name, name), "wb") as file:
                file.write(content)
        os.symlink("../secret", os.path.join(self.app, "link"))
        os.mkfifo(os.path.join(self.app, "pipe"))

    def case(self) -> Case:
        pods = [{"metadata": {"name": name, "namespace": "kube-system"}} for name in "pqrs"]
        other = {"metadata": {"name": "web", "namespace": "default"}}
        time = datetime(2030, 1, 1, tzinfo=timezone.utc)
        return Case().node_directory("/etc/app", self.app).env("CLUSTER", "test").now(time).objects("v1", "pods", [*pods, other])

    def test_a_check_reads_what_the_case_grants(self):
        run = self.case().check(inventory)
        self.assertIsNone(run.error)
        files = "a: unknown\nb: passed\nlink: unknown\npipe: unknown\nsub: unknown\n"
        self.assertEqual(run.outline(), f"{files}p: passed\nq: passed\nr: passed\ns: passed\ntest None 2030: passed\n")
        self.assertEqual(run.item("b").details, {"content": "text", "size": "4"})
        self.assertEqual(run.item("a").meta["error"], "failed to read `/etc/app/a`: not UTF-8")
        self.assertEqual(run.item("link").meta["error"], "failed to read `/etc/app/link`: not permitted")
        self.assertEqual(run.item("pipe").meta["error"], "failed to read `/etc/app/pipe`: not permitted")
        self.assertEqual([(one.completed, one.total, one.message) for one in run.progress], [(1, 2, "files")])
        self.assertEqual(self.case().broken_objects("v1", "pods", "the API server is gone").check(inventory).error, "the API server is gone")

    def test_what_is_not_granted_is_named(self):
        for other in ("/etc/app-2", "/etc", "etc/app", "/"):
            error = self.case().option("directory", other).check(inventory).error
            self.assertEqual(error, f"failed to read `{other}`: no granted directory contains it")
        error = Case().node_directory("/etc/app", self.app).check(inventory).error
        self.assertEqual(error, "the case grants no `pods` of `v1`: add them with `Case.objects`")
        self.assertFalse(issubclass(NotGranted, FileNotFoundError))
        self.assertTrue(issubclass(NotFound, FileNotFoundError))

    def test_a_file_in_memory_needs_no_directory(self):
        run = Case().node_file("/proc/swaps", "one\ntwo\n").check(streams)
        self.assertEqual(run.outline(), "one: passed\ntwo: passed\n")
        self.assertEqual(run.error, "failed to read `/proc/swaps`: more than 3 bytes")
        self.assertEqual(FileType("file"), FileType.FILE)

    def test_waiting_takes_no_time_and_advances_the_clock(self):
        @check
        def patient(plugin, context, out):
            context.sleep(3600)
            out.emit(Item(f"{context.now().hour} {time.sleep.__module__}", 0, Status.PASSED))

        for _ in range(2):
            self.assertEqual(self.case().check(patient).outline(), "1 time: passed\n")


if __name__ == "__main__":
    unittest.main()
