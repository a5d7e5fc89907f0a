# What a shell script says to the lab, as pageout_lab.h does for C: `. ./lab.sh` at its beginning.
# Descriptor 3 takes a line of words, and 4 answers it before the script goes on. A field of the
# manifest is a variable: $LAB_SIZE of `size`, sizes in bytes.

lab_say() {
    echo "$*" >&3 && read -r lab_answer <&4 || exit 1
}

# Begins the next sample, and ends the one before it. False once all are taken.
lab_sample() {
    lab_say sample && [ "$lab_answer" = 1 ]
}

# A region: lab_begin METRIC, lab_end METRIC UNITS; lab_units METRIC UNITS adds to them after.
lab_begin() {
    lab_say begin "$1"
}

lab_end() {
    lab_say end "$2" "$1"
}

lab_units() {
    lab_say units "$2" "$1"
}

# Adds to a counter: lab_count METRIC N.
lab_count() {
    lab_say count "$2" "$1"
}

# Ends the workload: this kernel is wrong, or else it cannot be measured here.
lab_wrong() {
    lab_say wrong "$*"
}

lab_fail() {
    lab_say fail "$*"
}
