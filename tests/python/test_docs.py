# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/PYTHON.md run, every public function has a docstring, and the stub file says what is there."""
import ast
import inspect
import os
import pathlib
import re
import unittest

import hx


class Docs(unittest.TestCase):
    def test_examples(self):
        page = pathlib.Path(os.environ["PYTHON_MD"]).read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        for block in blocks:
            exec(compile(block, "docs/PYTHON.md", "exec"), names)
        self.assertEqual(names["c"][0, 0], 300)
        self.assertEqual(names["reports"][0].devices[0].index, 0)

    def test_docstrings(self):
        for name in hx.__all__:
            self.assertTrue(getattr(hx, name).__doc__, name)

    def test_the_stub_has_the_signatures_of_the_extension(self):
        stub = pathlib.Path(hx.__file__).with_name("_native.pyi").read_text()
        for node in ast.parse(stub).body:
            function = getattr(hx, getattr(node, "name", ""), None)
            if not isinstance(node, ast.FunctionDef) or not inspect.isbuiltin(function):
                continue
            if not function.__text_signature__ or node.name == "default_context":
                continue
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            self.assertEqual(list(inspect.signature(function).parameters), [a.arg for a in arguments], node.name)


if __name__ == "__main__":
    unittest.main()
