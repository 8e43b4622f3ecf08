import tempfile
import unittest

import app
from plumbline_sdk.testing import Case


def given(value: str) -> Case:
    return Case().option("settings", {"vm/swappiness": "10"}).node_file("/proc/sys/vm/swappiness", value)


class Module(unittest.TestCase):
    def test_settings_are_compared(self):
        self.assertEqual(given("10\n").check(app.compare).outline(), "vm/swappiness: passed\n")
        run = given("60\n").check(app.compare)
        self.assertEqual(run.outline(), "vm/swappiness: failed\n")
        self.assertEqual((run.progress[-1].completed, run.progress[-1].total), (1, 1))

    def test_what_cannot_be_read_does_not_pass(self):
        # The case grants no directory, as a definition without `grants`.
        outline = Case().check(app.compare).outline()
        self.assertEqual(outline, "fs/protected_hardlinks: unknown\nkernel/panic_on_oops: unknown\n")
        with tempfile.TemporaryDirectory() as empty:
            outline = Case().node_directory("/proc/sys", empty).check(app.compare).outline()
        self.assertEqual(outline, "fs/protected_hardlinks: skipped\nkernel/panic_on_oops: skipped\n")

    def test_a_misspelled_option_is_an_error(self):
        self.assertIn("`setings`", given("10").option("setings", 1).check(app.compare).error)


if __name__ == "__main__":
    unittest.main()
