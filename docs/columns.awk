# Prints CSV of records as a row for each metric and a column for each value of one field:
#   pageout run ... --csv | awk -v field=tasks -v head='format memory' -v only=REGEX \
#       -f docs/columns.awk
# The values of the fields of `head` stand above their rows.
BEGIN {
    FS = ","
    nr_head = split(head, heads, " ")
}
{
    # The names of some metrics have a comma, and are quoted.
    gsub(/, /, "; ")
    gsub(/"/, "")
}
NR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}
$column["metric"] ~ only {
    of = ""
    for (i = 1; i <= nr_head; i++) of = of " " heads[i] "=" $column["field." heads[i]]
    name = $column["metric"] ", " $column["unit"]
    if (length(name) > 22) name = $column["metric"]
    gsub(/; /, ", ", name)
    if (!(of in seen)) groups[++nr_groups] = of
    if (!((of, name) in row)) names[of, ++seen[of]] = name
    value = $column["value"]
    row[of, name] = row[of, name] sprintf(value == 0 || value >= 10 ? "%8.0f" : "%8.2f", value)
    at = $column["field." field]
    if (!(at in had)) {
        had[at] = 1
        first = first sprintf("%8s", at)
    }
}
END {
    printf "%-24s%s\n", field, first
    for (g = 1; g <= nr_groups; g++) {
        of = groups[g]
        print substr(of, 2)
        for (n = 1; n <= seen[of]; n++) printf "  %-22s%s\n", names[of, n], row[of, names[of, n]]
    }
}
