import json
import tracemalloc
import unittest
import xml.etree.ElementTree as ElementTree

from plumbline_sdk import Item, Json, ModuleError, ReadError, Status, post_processor
from plumbline_sdk.testing import Case, Refused


@post_processor
def process(plugin, files, out):
    """Runs the global `body`, which each test sets."""
    body(plugin, files, out)


def body(plugin, files, out):
    raise NotImplementedError


def lines(plugin, files, out):
    for file in files:
        out.emit(Item(file.file_name, meta={"file": file.path, "size": file.size, "none": None}))
        try:
            for line in file.lines(limit=40):
                out.emit(Item(line or "(empty)", 1, Status.PASSED))
        except ReadError as error:
            out.emit(Item("unreadable", 1, Status.UNKNOWN, {"error": error}))


def run(function, case=None):
    global body
    body = function
    return (case or Case()).run(process)


class PostProcessor(unittest.TestCase):
    def test_lines_are_the_same_wherever_the_host_cuts_the_file(self):
        text = "\ufeffone\r\ntwo ä🚦\n\nlast".encode() + b"\xff"
        whole = run(lines, Case().file("results/global/a", text))
        self.assertEqual(whole.outline(), "a: -\n  one: passed\n  two ä🚦: passed\n  (empty): passed\n  last\ufffd: passed\n")
        for chunk in (1, 2, 3):
            self.assertEqual(run(lines, Case().file("results/global/a", text).chunk(chunk)), whole)

    def test_a_file_that_breaks_and_a_line_without_end_are_items_and_no_end(self):
        case = (
            Case()
            .broken_file("results/global/a", "one\ntw", "the disk is gone")
            .generated_file("results/global/b", lambda: (b"aaaa" for _ in range(1000)))
            .file("results/global/c", "three")
        )
        result = run(lines, case)
        self.assertEqual([item.name for item in result.items if item.depth == 0], ["a", "b", "c"])
        self.assertEqual(result.items[-1].name, "three")
        errors = [item.meta["error"] for item in result.items if "error" in item.meta]
        self.assertEqual(errors, ["the disk is gone", "line 1 has more than 40 characters"])

    def test_a_file_is_a_binary_stream_for_whatever_reads_files(self):
        def xml(plugin, files, out):
            for _event, element in ElementTree.iterparse(files[0]):
                out.emit(Item(element.tag))

        case = Case().file("results/global/a", "<a><b/><c/></a>").chunk(2)
        self.assertEqual(run(xml, case).outline(), "b: -\nc: -\na: -\n")

    def test_many_small_files_do_not_cost_as_many_large_buffers(self):
        case = Case()
        for number in range(2_000):
            case = case.file(f"results/global/{number:05}", b"x" * 1_500)
        tracemalloc.start()
        run(lambda plugin, files, out: None, case)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(peak, 64 << 20)

    def test_json_that_is_none_says_where(self):
        def whole(plugin, files, out):
            files[0].json(limit=10)

        given = lambda text: run(whole, Case().file("results/global/a", text)).error
        self.assertEqual(given("[" + "1," * 10), "the file has more than 10 bytes")
        self.assertTrue(given("{} x").startswith("not a JSON document: "))
        self.assertIsNone(given("{}"))

    def test_a_json_document_that_would_overflow_the_stack_is_refused_and_brackets_in_strings_are_none(self):
        def whole(plugin, files, out):
            out.emit(Item("read", details={"it": files[0].json()}))

        given = lambda text: run(whole, Case().file("results/global/a", text)).error
        nested = lambda levels: "[" * levels + "]" * levels
        self.assertIsNone(given(nested(512)))
        self.assertEqual(given(nested(513)), "the JSON document is nested more than 512 levels deep")
        self.assertIn("nested more than", given('{"a": [' * 50_000))
        self.assertIsNone(given(json.dumps(["[" * 9999, '\\"{' * 9999, "\\", "]"])))

    def test_an_item_has_everything_that_it_may_have(self):
        def full(plugin, files, out):
            out.emit(Item("a", status="warning", details={"failure": "text", "data": {"a": [1]}, "s": Json("x"), "none": None}))
            out.emit(Item("half \ud800", 1, "failed", details={"\udc00": ["\ud800"]}))

        first, second = run(full).items
        self.assertEqual(first, Item("a", 0, "warning", {}, {"failure": "text", "data": {"a": [1]}, "s": Json("x")}))
        self.assertIs(second.status, Status.FAILED)
        self.assertNotIn("\ud800", second.name)
        json.dumps(list(second.details.values()), ensure_ascii=False).encode()

    def test_texts_that_the_host_would_refuse_for_their_size_are_cut_and_say_so(self):
        def large(plugin, files, out):
            out.emit(Item("🚦" * 20_000, details={"a": "x" * (4 << 20), "b": "y", "c": [1]}))
            out.emit(Item("n" * 70_000))

        first, second = run(large).items
        self.assertLess(len(first.name.encode()), 64 << 10)
        self.assertTrue(first.details["a"].endswith("x… (1048576 more characters)"))
        self.assertEqual((first.details["b"], first.details["c"]), ("… (1 more characters)", "(left out: a structure of 3 characters)"))
        self.assertEqual(second.details["name"], "n" * 70_000)

    def test_what_is_emitted_before_a_failure_stays_and_a_mistake_names_its_place(self):
        def decision(plugin, files, out):
            out.emit(Item("a"))
            raise ModuleError("option `x` makes no sense")

        def mistake(plugin, files, out):
            {}["x"]

        result = run(decision)
        self.assertEqual((result.error, result.outline()), ("option `x` makes no sense", "a: -\n"))
        result = run(mistake)
        self.assertRegex(result.error, r"^KeyError: 'x' \(test_post_processor\.py, line \d+\)$")
        self.assertEqual(result.log[-1][0], "error")

    def test_many_items_go_out_in_batches_in_order(self):
        def many(plugin, files, out):
            for number in range(2000):
                out.emit(Item(f"item {number}", status=Status.PASSED))

        items = run(many).items
        self.assertEqual((len(items), items[-1].name), (2000, "item 1999"))

    def test_the_plugin_has_its_name_and_options(self):
        seen = []
        run(lambda plugin, files, out: seen.append(plugin), Case().plugin(name="p", driver="DaemonSet").option("strict", True))
        self.assertEqual((seen[0].name, seen[0].driver, seen[0].options), ("p", "DaemonSet", {"strict": True}))

    def test_what_the_host_would_refuse_is_refused_here(self):
        for item in (Item("x", 1), Item(""), Item("x", status="w" * 257)):
            with self.assertRaises(Refused):
                run(lambda plugin, files, out: out.emit(item))
        self.assertIn("an item is an `Item`", run(lambda plugin, files, out: out.emit({"name": "x"})).error)


if __name__ == "__main__":
    unittest.main()
