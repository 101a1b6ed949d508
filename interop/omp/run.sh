#!/usr/bin/env bash
# Sessions with blobs go between piweb and oh-my-pi (18.2.3, on the bun of npm):
#
#   interop/omp/run.sh
#
# It reads what piweb externalised, and piweb reads what it wrote. Needs Go, node and npm; the
# packages (about 600 MB) are installed once outside the checkout, at PIWEB_OMP_CACHE.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${PIWEB_OMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/piweb/omp-18.2.3}
if [ ! -x "$cache/node_modules/.bin/bun" ]; then
  mkdir -p "$cache"
  (cd "$cache" && { [ -f package.json ] || echo '{"private":true}' >package.json; } && npm install --silent --no-audit --no-fund bun@1.4.5 @oh-my-pi/pi-coding-agent@18.2.3)
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd "$here/../.." && go build -o "$tmp/piweb" ./cmd/piweb)
export HOME=$tmp/home PI_CODING_AGENT_DIR=$tmp/home/.omp/agent
mkdir -p "$PI_CODING_AGENT_DIR/sessions/-x" "$tmp/work"
cp "$here/omp.ts" "$cache/omp.ts"
omp() { "$cache/node_modules/.bin/bun" "$cache/omp.ts" "$cache/node_modules/@oh-my-pi/pi-coding-agent" "$@"; }
same() { [ "$2" = "$3" ] && echo "ok   $1" || { echo "FAIL $1"; echo "     $2"; echo "     $3"; exit 1; }; }
sums() { node -e '
  const { createHash } = require("node:crypto"), out = [];
  const walk = (v) => { if (Array.isArray(v)) v.forEach(walk); else if (v && typeof v === "object") { if (v.type === "image" && typeof v.data === "string") out.push(createHash("sha256").update(v.data).digest("hex")); else Object.values(v).forEach(walk); } };
  for (const line of require("node:fs").readFileSync(process.argv[1], "utf8").trim().split("\n").slice(1)) walk(JSON.parse(line));
  console.log(JSON.stringify(out));' "$1"; }

source=$here/../../fixtures/cases/016-base64-comes-back-exactly/session.jsonl
moved=$PI_CODING_AGENT_DIR/sessions/-x/moved.jsonl
"$tmp/piweb" sessions externalize "$source" -o "$moved" >/dev/null
cp "$moved" "$tmp/before.jsonl"
same "oh-my-pi sees the pictures that piweb externalised" "$(sums "$source")" "$(omp read "$moved")"

written=$(omp write "$tmp/work" "$PI_CODING_AGENT_DIR/sessions/-w")
grep -q '"data":"blob:sha256:' "$written" && echo "ok   oh-my-pi wrote a reference" || { echo "FAIL oh-my-pi wrote no reference"; exit 1; }
"$tmp/piweb" sessions inline "$written" -o "$tmp/inlined.jsonl" >/dev/null
same "piweb sees the pictures that oh-my-pi wrote" "$(omp read "$written")" "$(grep -v '^{"type":"title"' "$tmp/inlined.jsonl" >"$tmp/plain.jsonl"; sums "$tmp/plain.jsonl")"
