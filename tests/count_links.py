#!/usr/bin/env python3
"""Counts the wikilinks of a vault by itself, to compare with what `runebook links` finds.

Shares nothing with the program: regular expressions over lines instead of a Markdown parser. Prints a JSON line for
each `[[...]]` of a body with a target: the file, the line, the target, how it resolves (ok, ambiguous, alias,
directory, broken) and where to.
"""

import json
import os
import re
import sys
import unicodedata

root = sys.argv[1]


def fold(text):
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


files, directories = [], set()
for at, names, there in os.walk(root):
    names[:] = sorted(name for name in names if not name.startswith("."))
    for name in there:
        if not name.startswith("."):
            path = os.path.relpath(os.path.join(at, name), root).replace(os.sep, "/")
            files.append(path)
            parent = os.path.dirname(path)
            while parent:
                directories.add(parent)
                parent = os.path.dirname(parent)
files.sort()
by_name = {}
for path in files:
    by_name.setdefault(fold(os.path.basename(path)), []).append(path)


def read(path):
    with open(os.path.join(root, path), "rb") as file:
        return file.read().decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n").split("\n")


def split(lines):
    """The lines of the front matter and the number of the first line of the body."""
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return lines[1:number], number + 1
    return [], 0


aliases = {}
for path in files:
    if path.endswith(".md"):
        within = False
        for line in split(read(path))[0]:
            entry = re.match(r"alias(es)?:\s*(.*)$", line)
            item = re.match(r"\s*-\s+(.*)$", line)
            if entry:
                within = True
                inline = entry.group(2).strip()
                found = inline.strip("[]").split(",") if inline else []
            elif within and item:
                found = [item.group(1)]
            else:
                within, found = False, []
            for alias in found:
                alias = alias.strip().strip("\"'")
                if alias:
                    aliases.setdefault(fold(alias), set()).add(path)


def prefer(found, note):
    home = os.path.dirname(note)
    return sorted(found, key=lambda p: (os.path.dirname(p) != home, p.count("/"), len(p), p))


def resolve(target, note):
    last = target.rsplit("/", 1)[-1]
    endings = ["", ".md"] if "." in last else [".md", ""]
    home = os.path.dirname(note)
    for key in (lambda t: unicodedata.normalize("NFC", t), fold):
        for base in ("", home):
            place = os.path.normpath(os.path.join(base, target.lstrip("/"))).replace(os.sep, "/")
            for ending in endings:
                for path in by_name.get(fold(last + ending), []):
                    if key(path) == key(place + ending):
                        return "ok", path
        for ending in endings:
            found = [p for p in by_name.get(fold(last + ending), []) if key("/" + p).endswith(key("/" + target + ending))]
            if found:
                return ("ok" if len(found) == 1 else "ambiguous"), prefer(found, note)[0]
    named = aliases.get(fold(target), set())
    if named:
        return ("alias" if len(named) == 1 else "ambiguous"), prefer(named, note)[0]
    for base in ("", home):
        place = os.path.normpath(os.path.join(base, target)).replace(os.sep, "/")
        if place in directories:
            return "directory", place
    return "broken", None


for path in files:
    if not path.endswith(".md"):
        continue
    lines = read(path)
    _, start = split(lines)
    fence = comment = None
    for number, line in enumerate(lines[start:], start + 1):
        bare = re.sub(r"^[\s>]*(?:[-*+]|\d+[.)])?\s*", "", line)
        mark = re.match(r"(`{3,}|~{3,})(.*)$", bare)
        if fence:
            if mark and mark.group(1)[0] == fence[0] and len(mark.group(1)) >= len(fence) and not mark.group(2).strip():
                fence = None
            continue
        if mark and not (mark.group(1)[0] == "`" and "`" in mark.group(2)):
            fence = mark.group(1)
            continue
        # Code spans, HTML comments and %% comments of one line become blanks of the same length.
        blank = lambda found: " " * len(found.group(0))
        text = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", blank, line)
        text = re.sub(r"<!--.*?-->|%%.*?%%", blank, text)
        for inner in re.findall(r"(?<!\\)\[\[([^\[\]\n]+?)\]\]", text):
            name = re.split(r"\\?\|", inner, maxsplit=1)[0]
            target = name.split("#", 1)[0].strip()
            if target and "://" not in target:
                state, to = resolve(target, path)
                print(json.dumps({"from": path, "line": number, "target": target, "state": state, "to": to}))
