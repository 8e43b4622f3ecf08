import unittest

from plumbline_sdk import (
    GLOBAL,
    Check,
    Item,
    ModuleError,
    Node,
    Outcome,
    Ruling,
    Status,
    Taint,
    check,
    expectations,
    judge,
    post_processor,
    summarizer,
)
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


@judge
def judgement(plugin, tree, evidence, out):
    known = {line for file in evidence for line in file.lines()}
    read = list(tree)
    for judged in read:
        if judged.is_failure and judged.ruling is None and judged.item.name in known:
            out.rule(judged, Ruling("known-failure", counts=False, reason=f"in {judged.set}", source="the list"))
    for index, word in plugin.options.get("rule", {}).items():
        out.rule(int(index), Ruling(word, counts=plugin.options.get("counts", True), reason="ü" * 5000))
    for id in plugin.options.get("checks", []):
        out.report(Check(id, "as asked", "failed", want="1", got=str(len(read))))
    if "fail" in plugin.options:
        raise ModuleError("no")


def judged_case():
    suite = [Item("suite", status="failed"), Item("a", 1, "failed"), Item("b", 1, "timeout"), Item("c", 1, "passed")]
    return Case().file("data/known.txt", "a\nb\nc\n").results("n2", suite).results("", [Item("sum", status="failed")]).results("n1", suite)


class Judges(unittest.TestCase):
    def test_a_judge_rules_on_leaves_and_reports_checks(self):
        judged = judged_case().ruled("b", Ruling("flaky", counts=True)).option("checks", ["A-1"]).judge(judgement)
        reasons = "n1/a: known-failure, excused: in n1\nn2/a: known-failure, excused: in n2\nn2/b: known-failure, excused: in n2\n"
        self.assertEqual(judged.outline(), reasons + "A-1: failed\n")
        self.assertEqual((judged.check("A-1").got, judged.tree[-1].set), ("9", ""))
        self.assertEqual(judged.ruling("a").source, "the list")
        self.assertIsNone(judged.ruling("b"), "the one of the first node has its ruling")

    def test_more_than_a_batch_goes_through_and_long_texts_are_cut(self):
        case = Case().file("data/known.txt", "x\n").results("n", [Item("x", status="failed")] * 3000).option("rule", {0: "again"})
        judged = case.judge(judgement)
        self.assertEqual(len(judged.rulings), 3001)
        self.assertEqual((judged.ruling("x").class_, judged.ruling("x").counts), ("again", True))
        reason = judged.ruling("x").reason
        self.assertTrue(reason.endswith("ü…") and len(reason.encode()) <= 4096, len(reason.encode()))

    def test_what_the_host_refuses_is_refused(self):
        for options, problem in (
            ({"rule": {0: "x"}}, "item 0 .`suite`. has a ruling, but is not a leaf"),
            ({"rule": {9: "x"}}, "item 9 has a ruling, but only 9 items were given"),
            ({"checks": ["A", "A"]}, "check `A` is reported twice"),
            ({"checks": [str(n) for n in range(10_001)]}, "more than 10000 checks"),
        ):
            case = judged_case()
            for key, value in options.items():
                case.option(key, value)
            with self.assertRaisesRegex(Refused, problem):
                case.judge(judgement)

    def test_a_mistake_is_a_sentence_and_what_was_said_before_stays(self):
        for options, sentence in (
            ({"rule": {1: "Not A Class"}}, "ValueError: a class has 1 to 64 of the characters"),
            ({"rule": {1: "x"}, "counts": None}, "TypeError: ruling `x`: `counts` is neither True nor False"),
            ({"checks": [""]}, "ValueError: the id of a check has 1 to 64 characters"),
            ({"fail": True}, "no"),
        ):
            case = judged_case()
            for key, value in options.items():
                case.option(key, value)
            judged = case.judge(judgement)
            self.assertTrue(judged.error.startswith(sentence), judged.error)
            self.assertEqual(len(judged.rulings), 4)
        broken = judged_case().broken_results("the disk is gone").judge(judgement)
        self.assertEqual(broken.error, "the disk is gone")
        self.assertEqual(Outcome("unknown"), Outcome.UNKNOWN)


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

    def test_a_function_that_nothing_would_run_is_an_error(self):
        async def waiting(*given):
            raise AssertionError

        def yielding(*given):
            yield Item("a")

        async def both(*given):
            yield Item("a")

        failed = [Item("x", status=Status.FAILED)]
        for function in (waiting, yielding, both):
            for error in (
                Case().file("results/global/a", "bad").run(post_processor(function)).error,
                Case().results("n", failed).summarize(summarizer(function)).error,
                Case().results("n", failed).judge(judge(function)).error,
                Case().check(check(function)).error,
            ):
                self.assertIn("make it a plain function", error)

    def test_an_expectation_may_yield_and_not_be_async(self):
        def yielding(plugin, pod_spec, nodes):
            yield GLOBAL

        async def both(plugin, pod_spec, nodes):
            yield GLOBAL

        self.assertEqual(Case().expected(expectations(yielding)), ["global"])
        with self.assertRaisesRegex(RuntimeError, "not iterable"):
            Case().expected(expectations(both))


if __name__ == "__main__":
    unittest.main()
