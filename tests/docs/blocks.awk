# SPDX-License-Identifier: Apache-2.0
# awk -v out=FOLDER -f blocks.awk PAGE...: writes each block of code to FOLDER/NNN.LANGUAGE and prints a line for it:
# NNN LANGUAGE PAGE:LINE REASON. Blocks are fenced, with a language, or indented by four blanks after an empty line, and then
# shell. REASON: from a comment <!-- not run: REASON --> in the line of text before the block; "-": there is none.
function begin(language) {
  number = sprintf("%03d", ++blocks)
  reason = "-"
  if (match(text, /<!-- not run: [^>]* -->/)) reason = substr(text, RSTART + 14, RLENGTH - 18)
  print number, language, FILENAME ":" FNR, reason
  file = out "/" number "." language
  printf "" >file
}
FNR == 1 { fenced = indented = 0; text = ""; empty = 1 }
/^```/ {
  if (fenced) {
    fenced = 0
    close(file)
  } else {
    fenced = 1
    begin(length($0) > 3 ? substr($0, 4) : "unnamed")
  }
  text = ""
  next
}
fenced { print >file; next }
/^    / && (empty || indented) {
  if (!indented) begin("sh")
  indented = 1
  print substr($0, 5) >file
  next
}
{
  if (indented) close(file)
  indented = 0
  empty = $0 == ""
  if (!empty) text = $0
}
