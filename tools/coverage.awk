# SPDX-License-Identifier: Apache-2.0
# Lines and branches that the tests executed, a row for each folder of runtime/, from gcovr's CSV (./hx coverage).
# Columns: file, lines, lines executed, fraction, branches, branches taken.
BEGIN {
  FS = ","
  print_row("folder", "lines", "executed", "branches", "taken")
}
NR > 1 {
  sub(/.*\/runtime\//, "runtime/", $1)
  sub(/\/[^\/]*$/, "", $1)
  if (!($1 in lines)) folders[++count] = $1
  for (each = 1; each <= 2; each++) {
    folder = each == 1 ? $1 : "total"
    lines[folder] += $2
    executed[folder] += $3
    branches[folder] += $5
    taken[folder] += $6
  }
}
END {
  folders[++count] = "total"
  for (i = 1; i <= count; i++) {
    folder = folders[i]
    print_row(folder, lines[folder], percent(executed[folder], lines[folder]), branches[folder],
              percent(taken[folder], branches[folder]))
  }
}
function percent(part, all) {
  return all ? sprintf("%.1f %%", 100 * part / all) : "-"
}
function print_row(folder, lines, executed, branches, taken) {
  printf "%-24s %8s %10s %10s %10s\n", folder, lines, executed, branches, taken
}
