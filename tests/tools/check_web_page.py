#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Check the page of `sluice web`: its tags close, and each member that its script shows of a list is one that the list has.

    check_web_page.py PAGE LIST...      a list is a file NAME.LIST of /api/LIST
"""
import ast
import html.parser
import json
import re
import sys


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.opened = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag, tag


def main(path, *lists):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.opened, tags.opened
    views = {view[0]: view[2] + view[3] for view in ast.literal_eval(re.search(r"const views = (\[.*?\]);", page, re.DOTALL)[1])}
    for name, member in re.findall(r"'?([a-z-]+)'?: '([a-z_]+)'", re.search(r"const used_by = \{(.*?)\}", page, re.DOTALL)[1]):
        views[name].append(member)
    for file in lists:
        name = file.rpartition(".")[2]
        with open(file, encoding="utf-8") as f:
            row = json.load(f)[0]
        missing = [member for member in views[name] if member not in row]
        assert not missing, (name, missing)
        print(f"{name}: {len(views[name])} members")


main(*sys.argv[1:])
