import json
import unittest

import app
from plumbline_sdk import Status
from plumbline_sdk.testing import Case


def report(*checks):
    return json.dumps({"Controls": [{"id": "4", "text": "Worker", "tests": [{"section": "4.1", "desc": "Files", "results": checks}]}]})


def run(document, **options):
    case = Case().file("results/n1/kube-bench.json", document)
    for key, value in options.items():
        case.option(key, value)
    return case.run(app.process)


class KubeBench(unittest.TestCase):
    def test_a_failed_check_says_what_was_expected_and_what_to_do(self):
        check = {
            "test_number": "4.1.1",
            "test_desc": "Ensure x",
            "status": "FAIL",
            "scored": True,
            "expected_result": "600",
            "actual_value": "644\n",
            "remediation": "chmod 600 x\n",
        }
        item = run(report(check)).item("4.1.1 Ensure x")
        self.assertEqual((item.depth, item.status, item.meta["scored"]), (3, Status.FAILED, "true"))
        self.assertEqual(item.details["failure"], "expected 600, found 644")
        self.assertEqual(item.details["remediation"], "chmod 600 x")

    def test_the_option_decides_about_warnings(self):
        document = report({"test_number": "1", "status": "WARN"})
        statuses = [run(document, **options).item("1").status for options in ({}, {"warn": "fail"}, {"warn": "skip"})]
        self.assertEqual(statuses, ["warning", Status.FAILED, Status.SKIPPED])

    def test_a_misspelt_option_is_named(self):
        self.assertIn("unknown option `warm`", run("{}", warm="skip").error)
        self.assertIn("must be one of warning, fail, skip, not `ignore`", run("{}", warn="ignore").error)

    def test_what_is_not_known_does_not_pass(self):
        for status in ("ERRO", "pass", None, 3):
            self.assertEqual(run(report({"test_number": "1", "status": status})).item("1").status, Status.UNKNOWN)
        for document in ("", "[]", "{}", "[1]", "kube-bench: command not found", '{"Controls": []}', '{"Controls": {}}'):
            self.assertEqual(run(document).items[-1].status, Status.UNKNOWN, document)

    def test_half_a_report_keeps_its_half(self):
        whole = report({"test_number": "1", "status": "PASS"})
        result = run(whole + whole[:60])
        self.assertEqual(result.item("1").status, Status.PASSED)
        self.assertEqual(result.items[-1].name, "unreadable")

    def test_any_document_is_stood(self):
        values = [None, 1, "x", [], {}, [None], [{}], True, -1.5]
        for value in values:
            for key in ("id", "text", "tests", "version"):
                self.assertIsNone(run(json.dumps([{"tests": [], key: value}])).error)
            for key in ("section", "desc", "results"):
                self.assertIsNone(run(json.dumps([{"tests": [{key: value}]}])).error)
            for key in ("test_number", "test_desc", "status", "reason", "scored", "actual_value", "type"):
                self.assertIsNone(run(report({"status": "FAIL", key: value})).error)
            self.assertIsNone(run(json.dumps(value)).error)

    def test_a_very_long_text_is_cut_and_says_so(self):
        item = run(report({"test_number": "1", "status": "FAIL", "reason": "x" * 10_000})).item("1")
        self.assertTrue(item.details["failure"].endswith("… (1808 more characters)"))


if __name__ == "__main__":
    unittest.main()
