# The texts of the commands as C: awk -f generate.awk NAME.txt...
# Each file has three sections, each under a heading in capitals. Lines are joined into paragraphs; lines that start with two spaces
# and the lines of EXAMPLES stay as they are. {CS_NAME} stands for the value of that macro.
function finish_section() {
    if (section) printf "    .%s = \"%s\",\n", tolower(section), text
    section = text = ""
}
function finish_file() {
    finish_section()
    if (NR > 1) print "};"
}
BEGIN { print "#include \"analysis/study/figure.h\"\n#include \"cli/commands.h\"\n" }
FNR == 1 {
    finish_file()
    name = FILENAME
    gsub(/.*\/|\.txt$/, "", name)
    gsub(/-/, "_", name)
    printf "const cs_command_help cs_help_%s = {\n", name
}
/^(SUMMARY|DESCRIPTION|EXAMPLES)$/ { finish_section(); section = $0; next }
/^$/ { paragraph = 1; next }
{
    verbatim = section == "EXAMPLES" || /^  /
    if (text) text = text (paragraph ? "\\n\\n" : verbatim || before ? "\\n" : " ")
    before = verbatim
    paragraph = 0
    gsub(/[\\"]/, "\\\\&")
    while (match($0, /[{]CS_[A-Z_]+[}]/)) $0 = substr($0, 1, RSTART - 1) "\" " substr($0, RSTART + 1, RLENGTH - 2) " \"" substr($0, RSTART + RLENGTH)
    text = text $0
}
END { finish_file() }
