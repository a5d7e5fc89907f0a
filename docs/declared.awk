# Prints what Rust sources declare: the fields of structs and the variants of enums, in the words of
# their doc comments, 80 columns wide. -v only=A,B chooses the types, -v heads=no leaves their names
# out.
function print_item(name, text,    words, count, line, i) {
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
function kebab(name,    result, i, letter) {
    for (i = 1; i <= length(name); i++) {
        letter = substr(name, i, 1)
        result = result (letter ~ /[A-Z]/ && i > 1 ? "-" : "") tolower(letter)
    }
    return result
}
BEGIN { count = split(only, names, ","); for (i = 1; i <= count; i++) is_wanted[names[i]] = 1 }
/^ *\/\/\/ / { sub(/^ *\/\/\/ /, ""); doc = doc " " $0; next }
/^ *#\[serde\(.*rename = / { split($0, parts, "\""); renamed = parts[2] }
/^ *#\[/ { next }
{ sub(/^ *pub(\(crate\))? /, "") }
/^(struct|enum) / { on = $2 in is_wanted; if (on && heads != "no") print $2; doc = renamed = ""; next }
/^ *}/ { on = 0 }
{ gsub(/\[`|`\]|`/, "", doc) }
on && /^ *[a-z0-9_]+: / { sub(":", "", $1); print_item(renamed ? renamed : $1, doc) }
on && /^ *[A-Z][A-Za-z]+,$/ { sub(",", "", $1); print_item(kebab($1), doc) }
{ doc = renamed = "" }
