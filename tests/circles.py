#!/usr/bin/env python3
"""Lists circles of files inside the folders of src, analysis and toy.

usage: python3 tests/circles.py [FOLDER...]

A unit is X.c with X.h and X_private.h. A unit needs another one of its folder if it names a function or an object that
the other defines: neither links without the other. A circle is a set of units of one folder that need each other,
perhaps through others. Prints each circle with the names that tie it. Types, macros, constants and inline functions tie
nothing: a header may be read by those that its own functions call. Nor do the rows of a table whose names a macro makes
(objectives, architectures, context modes, commands, kernels): the table is where rows are registered, and rows may call
what the file of the table offers. Exit status 1: there is a circle.
"""
import collections
import pathlib
import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
NAME = re.compile(r'\b(?:cs|CUDA)_\w+')


def unit_of(path):
    return re.sub(r'(_private)?\.(c|h|cu|cuh)$', '', str(path))


def statements(code):
    """The declarations and definitions at the outer level, with {} in place of what braces enclose."""
    part, depth = '', 0
    for piece in re.split(r'([{};])', code):
        depth -= piece == '}'
        if depth == 0:
            part += piece
            body = piece == '}' and re.match(r'[^=]*\)\s*\{\}$', part) and not part.lstrip().startswith('typedef')
            if piece == ';' or body:
                yield part.strip(' \t\n;')
                part = ''
        depth += piece == '{'


def defined(code):
    """The functions and objects that a source file defines for others."""
    for part in statements(code):
        if part.startswith(('typedef', 'extern', 'struct', 'union', 'enum')) and '=' not in part and ') {}' not in part:
            continue
        if part.startswith('static'):
            continue
        function = re.match(r'[^=(]*?\b((?:cs|CUDA)_\w+)\(.*\{\}$', part, re.S)
        item = re.match(r'[^=(]*?\b((?:cs|CUDA)_\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)', part)
        if function or item:
            yield (function or item).group(1)


def circles(files):
    """The circles of a folder: lists of (unit, unit, names)."""
    owners, used = collections.defaultdict(set), collections.defaultdict(set)
    for path in files:
        text = TOKEN.sub(lambda m: '""' if m.group()[0] == '"' else ' ', path.read_text(errors='replace'))
        code = re.sub(r'^[ \t]*#(?:[^\n\\]|\\\n|\\.)*', '', text, flags=re.M)
        header = path.suffix in ('.h', '.cuh')
        bodies = ' '.join(re.findall(r'\{.*?\n\}', re.sub(r'\{[^{}\n]*\}', '', code), re.S)) if header else text
        used[unit_of(path)].update(NAME.findall(bodies))
        for name in [] if header else defined(code):
            owners[name].add(unit_of(path))
    ties = collections.defaultdict(lambda: collections.defaultdict(list))
    for unit, names in used.items():
        for name in sorted(names):
            if len(owners[name]) == 1 and unit not in owners[name]:
                ties[unit][next(iter(owners[name]))].append(name)
    reached = {}
    for unit in used:
        reached[unit], stack = set(), [unit]
        while stack:
            new = set(ties[stack.pop()]) - reached[unit]
            reached[unit] |= new
            stack += new
    groups = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in used}
    groups = sorted(group for group in groups if len(group) > 1)
    return [[(a, b, ties[a][b]) for a in group for b in group if b in ties[a]] for group in groups]


def main():
    wanted = [name.rstrip('/') for name in sys.argv[1:]]
    root = pathlib.Path(__file__).resolve().parent.parent
    folders = collections.defaultdict(list)
    for path in sorted(path for top in ('src', 'analysis', 'toy') for path in (root / top).rglob('*')):
        if path.suffix in ('.c', '.h', '.cu', '.cuh'):
            folders[path.parent.relative_to(root)].append(path)
    count = 0
    for folder, files in folders.items():
        for circle in circles(files) if not wanted or str(folder) in wanted else []:
            count += 1
            units = sorted({pathlib.Path(unit).name for tie in circle for unit in tie[:2]})
            print(f'circles: {folder}: {len(units)} units: {" ".join(units)}')
            for a, b, names in circle:
                print(f'  {pathlib.Path(a).name} -> {pathlib.Path(b).name}: {", ".join(names)}')
    return count > 0


if __name__ == '__main__':
    sys.exit(main())
