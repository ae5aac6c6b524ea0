#!/bin/sh
# Verifies one merged proposal with nothing but git and sha256sum.
#
#   verify.sh REPOSITORY MERGE
#
# Recomputes BASE and the digest of the proposal that MERGE brought in, compares it with what the merge changed on
# main, and follows the chain from the decide event to approvals of exactly that digest by somebody who is not the
# proposer, with no content behind them. The form is described in src/model/event.rs.
set -eu
[ $# -eq 2 ] || { echo "usage: verify.sh REPOSITORY MERGE" >&2; exit 2; }
unset GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS
fail() { echo "broken: $*" >&2; exit 1; }
repo=$1
g() { git -C "$repo" --no-replace-objects -c core.commitGraph=false "$@"; }
tree() { g rev-parse --verify -q "$1^{tree}"; }
# The one value of a line of an event; nothing when the line stands there twice or not at all.
value() { g cat-file commit "$1" | sed -n "s/^Runebook-$2: //p" | awk '{ v = $0; n++ } END { if (n == 1) print v }'; }
digest() {
  g diff-tree -r --raw --no-renames --full-index --ignore-submodules=none -z "$1" "$2" -- \
    ':(top)' ':(top,exclude,glob)**/.abstract.md' ':(top,exclude,glob)**/.overview.md' |
    sha256sum | sed 's/^\([0-9a-f]*\).*/sha256:\1/'
}
is_event() { # one parent, the parent's tree, the name in both lines, the eleven lines at the end
  [ "$(g rev-list --parents -n 1 "$1" | wc -w)" -eq 2 ] && [ "$(tree "$1")" = "$(tree "$1^1")" ] &&
    [ "$(g log -1 --no-mailmap --format=%an "$1")" = "$(value "$1" Actor)" ] &&
    [ "$(g cat-file commit "$1" | sed -n 's/^author //p;/^$/q')" = "$(g cat-file commit "$1" | sed -n 's/^committer //p;/^$/q')" ] &&
    [ "$(g cat-file commit "$1" | grep -c '^Runebook-')" -eq 11 ] &&
    [ "$(g cat-file commit "$1" | tail -n 11 | grep -c '^Runebook-')" -eq 11 ]
}

merge=$(g rev-parse --verify -q "$2^{commit}") || fail "$2 is no commit"
[ "$(g rev-list --parents -n 1 "$merge" | wc -w)" -eq 3 ] || fail "$merge has not two parents"
main=$(g rev-parse "$merge^1") && decide=$(g rev-parse "$merge^2")
is_event "$decide" && [ "$(value "$decide" Event)" = decide ] || fail "its second parent is no decide event"
value "$decide" Data | grep -qF "\"main\":\"$main\"" || fail "the decide event names another main"
value "$decide" Data | grep -qF "\"tree\":\"$(tree "$merge")\"" || fail "the decide event names another tree"

# BASE: the second parent of the last merge of main on the branch's own line, else what the event `open` names.
base='' && at=$decide
while ! { is_event "$at" && [ "$(value "$at" Event)" = open ]; }; do
  second=$(g rev-parse --verify -q "$at^2" || true)
  [ -z "$second" ] || [ -n "$base" ] || ! g merge-base --is-ancestor "$second" "$main" || base=$second
  at=$(g rev-parse --verify -q "$at^1") || fail "the branch has no event open"
done
open=$at && proposer=$(value "$open" Actor)
[ -n "$base" ] || base=$(value "$open" Base)
g merge-base --is-ancestor "$base" "$main" || fail "BASE $base is no ancestor of main"
[ "$(value "$decide" Base)" = "$base" ] || fail "the decide event names another BASE"

sum=$(digest "$base" "$decide")
[ "$sum" = "$(value "$decide" Digest)" ] || fail "the decide event names another digest than $sum"
[ "$sum" = "$(digest "$main" "$merge")" ] || fail "the merge changed something else on main than $sum"

approvers=''
for event in $(g rev-list "$decide" "^$base" "^$main"); do
  is_event "$event" && [ "$(value "$event" Event)" = review ] || continue
  [ "$(value "$event" Verdict)" = approve ] && [ "$(value "$event" Digest)" = "$sum" ] || continue
  [ "$(value "$event" Vault) $(value "$event" Proposal)" = "$(value "$open" Vault) $(value "$open" Proposal)" ] || continue
  [ "$(value "$event" Actor)" != "$proposer" ] || continue
  for after in $(g rev-list --max-parents=1 "$decide" "^$event" "^$base" "^$main"); do
    [ "$(tree "$after")" = "$(tree "$after^1")" ] || continue 2
  done
  approvers="$approvers $(value "$event" Actor)"
done
undone=$(value "$open" Data | sed -n 's/.*"rollback_of":"\([0-9a-f]*\)".*/\1/p')
if [ -z "$approvers" ] && [ -n "$undone" ] && [ "$sum" = "$(digest "$undone" "$undone^1")" ]; then
  approvers=" nobody (the exact inverse of $undone)"
fi
[ -n "$approvers" ] || fail "nobody but the proposer approved $sum"
echo "ok: $(value "$decide" Proposal) by $proposer, $sum, approved by$approvers"
