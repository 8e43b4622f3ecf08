import unittest

import app
from plumbline_sdk.testing import Case


def given() -> Case:
    return Case().file("results/global/node.verdicts", "ok   disk\nbad  clock: 3 s behind\n")


class Module(unittest.TestCase):
    def test_each_line_is_an_item(self):
        run = given().run(app.process)
        self.assertEqual(run.outline(), "node.verdicts: -\n  disk: passed\n  clock: failed\n")
        self.assertEqual(run.item("clock").details["failure"], "3 s behind")

    def test_what_is_read_does_not_depend_on_where_the_host_cuts_the_file(self):
        self.assertEqual(given().chunk(1).run(app.process), given().run(app.process))

    def test_a_file_that_breaks_does_not_pass(self):
        run = Case().broken_file("results/global/node.verdicts", "ok disk\n", "the disk is gone").run(app.process)
        self.assertEqual(run.item("unreadable").meta["error"], "the disk is gone")


if __name__ == "__main__":
    unittest.main()
