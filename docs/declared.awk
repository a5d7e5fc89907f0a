# Prints the fields of structs in Rust sources with their doc comments, 80 columns wide.
# -v only=A,B chooses the structs.
function print_field(name, text,    words, count, line, i) {
    line = sprintf("  %-19s", name)
    count = split(text, words, " ")
    for (i = 1; i <= count; i++) {
        if (length(line) + length(words[i]) >= 80) {
            print line
            line = sprintf("%-21s", "")
        }
        line = line " " words[i]
    }
    print line
}
BEGIN { count = split(only, names, ","); for (i = 1; i <= count; i++) is_wanted[names[i]] = 1 }
/^ *\/\/\/ / { sub(/^ *\/\/\/ /, ""); doc = doc " " $0; next }
/^ *#\[serde\(rename = / { split($0, parts, "\""); renamed = parts[2] }
/^ *#\[/ { next }
/^ *pub struct / { on = $3 in is_wanted; if (on) print $3 }
/^ *}/ { on = 0 }
on && /^ *pub [a-z0-9_]+: / {
    sub(":", "", $2)
    gsub(/[][`]/, "", doc)
    print_field(renamed ? renamed : $2, doc)
}
{ doc = renamed = "" }
