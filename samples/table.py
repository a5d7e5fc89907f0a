"""A small store of rows in memory: build, look up, delete, refill, sort, export.

Each phase uses memory in a way of its own; samples/README.md shows the trace.
"""

ROWS = 2800
CELL = 1900


def rows(key):
    """Rows in an order that looks random and is the same each time."""
    for place in range(ROWS):
        key = key * 16807 % 2147483647
        yield key, [place] + [b"." * CELL for column in range(6)]


# Build: new memory, row after row.
table = dict(rows(1))
# Sort the keys: the rows themselves stay idle.
order = sorted(table)
# Delete every other row by key: scattered, and it leaves holes.
for key in order[::2]:
    del table[key]
# Look up a few rows again and again: a small hot set in a large idle table.
hot = order[1:400:2]
for turn in range(10):
    seen = sum(table[key][1][0] for key in hot)
# Refill: the holes first, then new memory.
table.update(rows(7))
# Read every row once, in key order: all of it young, once.
index = sorted((table[key][1][turn], key) for key in table)
# Give the rows back, and work on what is left.
table.clear()
text = ",".join(str(key) for _, key in index)
keys = sorted(map(int, text.split(",")))
