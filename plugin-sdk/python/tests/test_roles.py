import unittest

from plumbline_sdk import GLOBAL, Item, ModuleError, Node, Status, Taint, expectations, summarizer
from plumbline_sdk.testing import Case, Refused


@expectations
def expect(plugin, pod_spec, nodes):
    if "fail" in plugin.options:
        raise ModuleError("no")
    if "name" in plugin.options:
        return plugin.options["name"]
    return [GLOBAL, *(node for node in nodes if pod_spec["label"] in node.labels and not node.taints)]


@summarizer
def summarize(plugin, entries, out):
    failed = [entry.set for entry in entries if entry.item.status == Status.FAILED and entry.item.details["why"] == [1]]
    out.emit(Item("failures", status="passed", details={"sets": failed}))


class Roles(unittest.TestCase):
    def test_an_expectation_sees_the_nodes_and_the_pod_and_names_results(self):
        tainted = Node("b", {"gpu": "1"}, (Taint("t"),))
        case = Case().pod_spec({"label": "gpu"}).node(Node("a", {"gpu": "1"})).node(tainted).node(Node("c"))
        self.assertEqual(case.expected(expect), ["global", "node/a"])

    def test_an_expectations_failure_and_what_the_host_refuses_are_said(self):
        with self.assertRaisesRegex(RuntimeError, "^no$"):
            Case().option("fail", 1).expected(expect)
        for names in (["z"], ["a", "a"]):
            with self.assertRaises(Refused):
                Case().node(Node("a")).option("name", names).expected(expect)
        with self.assertRaisesRegex(RuntimeError, "^TypeError: an expected result is"):
            Case().option("name", [3]).expected(expect)

    def test_a_summarizer_reads_every_entry_and_adds_items(self):
        failed = [Item("x", status=Status.FAILED, details={"why": [1]})] * 300
        case = Case().results("n2", failed).results("n1", [Item("y"), Item("z", 1, "warning")])
        self.assertEqual(case.summarize(summarize).items[0].details["sets"], ["n2"] * 300)
        self.assertEqual(case.broken_results("the disk is gone").summarize(summarize).error, "the disk is gone")


if __name__ == "__main__":
    unittest.main()
