"""Shows that documents.py notices what it is there to notice."""

import pathlib
import tempfile
import unittest

import documents


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def wrong(self, *lines):
        return documents.check_commands("\n".join(lines), self.folder)

    def test_commands_share_a_folder_and_must_succeed(self):
        self.assertEqual(self.wrong("```sh", "echo 1 > a", "```", "text", "```sh", "", "# why", "test -f a", "```"), [])
        [(line, message)] = self.wrong("```sh", "true", "test -f b", "```")
        self.assertEqual(line, 3)
        self.assertIn("'test -f b' exits with 1, not 0", message)

    def test_an_expected_status_is_expected(self):
        self.assertEqual(self.wrong("```sh", "exit 3   # exit status 3", "```"), [])
        self.assertEqual(len(self.wrong("```sh", "exit 4  # exit status 3", "```")), 1)
        self.assertEqual(len(self.wrong("```sh", "exit 0  # exit status 3", "```")), 1)

    def test_lines_are_continued(self):
        self.assertEqual(self.wrong("```sh", "test 1 \\", "  -eq 1", "```"), [])
        self.assertEqual(self.wrong("```sh", "true", "test 1 \\", "  -eq 2", "```")[0][0], 3)

    def test_set_up_and_other_languages_do_not_run(self):
        self.assertEqual(self.wrong("```sh", "cmake/first-run --no-such", "cmake --no-such", "git clone x", "```"), [])
        self.assertEqual(self.wrong("```yaml", "false", "```", "```", "false", "```"), [])

    def test_output_is_compared(self):
        block = ["```sh", "printf 'a 1\\nb 2\\nc 3\\n'", "```", "so:", "```output"]
        self.assertEqual(self.wrong(*block, "a 1", "b 2", "c 3", "```"), [])
        self.assertEqual(self.wrong(*block, "a ...", "...", "c 3", "```"), [])
        self.assertEqual(self.wrong(*block, "a 1", "...", "```"), [])
        [(line, message)] = self.wrong(*block, "a 1", "b 3", "c 3", "```")
        self.assertEqual(line, 5)
        self.assertIn("prints something else:\na 1\nb 2\nc 3", message)
        self.assertEqual(len(self.wrong(*block, "a 1", "```")), 1)
        self.assertEqual(len(self.wrong("```output", "a", "```")), 1)

    def test_standard_error_is_output_too(self):
        self.assertEqual(self.wrong("```sh", "echo x >&2", "```", "```output", "x", "```"), [])

    def test_a_block_must_end(self):
        with self.assertRaises(ValueError):
            self.wrong("```sh", "true")


class LinksTest(unittest.TestCase):
    def test_links_lead_somewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs").mkdir()
            (root / "docs" / "b.md").write_text("# Two words: here\n")

            def wrong(text):
                return documents.check_links(root, root / "docs" / "a.md", text)

            (root / "docs" / "a.md").write_text("# Top\n")
            self.assertEqual(wrong("[x](b.md) [y](b.md#two-words-here) [z](#top) [w](https://example.org/x)"), [])
            self.assertEqual(wrong("\n[x](c.md)"), [(2, "the link leads nowhere: c.md")])
            self.assertEqual(wrong("[x](b.md#three)"), [(1, "no heading for the link b.md#three")])
            self.assertEqual(wrong("[x](../../etc)"), [(1, "the link leads nowhere: ../../etc")])


if __name__ == "__main__":
    unittest.main()
