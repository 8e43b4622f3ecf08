import unittest

import app
from plumbline_sdk import Item, Ruling, Status
from plumbline_sdk.testing import Case


def given(pattern: str) -> Case:
    items = [
        Item("suite", 0, Status.FAILED),
        Item("starts", 1, Status.FAILED),
        Item("[slow] stops", 1, Status.FAILED),
        Item("[slow] starts", 1, Status.PASSED),
    ]
    return Case().option("pattern", pattern).option("reason", "it is slow").results("global", items)


class Module(unittest.TestCase):
    def test_failures_that_match_do_not_count(self):
        judged = given("[slow] *").judge(app.excuse)
        self.assertEqual(judged.outline(), "global/[slow] stops: excused, excused: it is slow\n")
        for pattern, excused in {"*": 2, "starts": 1, "*st*s": 2, "[slow]": 0, "start": 0, "*starts*starts": 0}.items():
            self.assertEqual(len(given(pattern).judge(app.excuse).rulings), excused, pattern)

    def test_what_another_judge_said_stands(self):
        earlier = Ruling("regression", counts=True, reason="it passed before")
        self.assertIsNone(given("*").ruled("starts", earlier).judge(app.excuse).ruling("starts"))

    def test_an_option_that_is_not_there_is_named(self):
        self.assertIn("unknown option `patern`", given("*").option("patern", "*").judge(app.excuse).error)
        self.assertIn("`pattern`", Case().judge(app.excuse).error)


if __name__ == "__main__":
    unittest.main()
