#!/usr/bin/env bash
# Checks that sessions go back and forth between piweb and the real pi.
# See README.md for the variables, the cases and how to read a failure.
#
#   interop/run.sh [CASE…]
#   interop/run.sh --pi-web [CASE…]   with the real pi-web instead
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
lock=$here package=@earendil-works/pi-coding-agent flag=--pi # what is installed, and is the other side
if [ "${1:-}" = --pi-web ]; then
  lock=$here/pi-web package=@agegr/pi-web flag=--pi-web
  shift
fi
cache=${PIWEB_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/piweb/interop}

tmp=$(mktemp -d)
stage=
finish() {
  [ -z "$stage" ] || rm -rf "$stage"
  if [ -n "${PIWEB_INTEROP_KEEP:-}" ]; then
    echo "kept: $tmp"
  else
    rm -rf "$tmp"
  fi
}
trap finish EXIT

fail() {
  echo "$1" >&2
  echo "interop: 0 passed, 1 failed, 0 skipped"
  exit 1
}

# A skip is for one reason only: what the check needs from npm cannot be had.
skip() {
  if [ "${CI:-}" = true ] && [ "${PIWEB_INTEROP_OPTIONAL:-}" != 1 ]; then
    fail "$1 (in CI that is a failure unless PIWEB_INTEROP_OPTIONAL=1)"
  fi
  echo "interop: 0 passed, 0 failed, 1 skipped ($1)"
  exit 0
}

# The packages live outside the checkout, one folder per state of the lock, put in place whole
# by a rename: an interrupted install leaves nothing that looks finished, and two runs at once
# do not disturb each other.
digest=$(cat "$lock"/package.json "$lock"/package-lock.json "$lock"/.npmrc |
  { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
packages=$cache/$digest-$(uname -s)-$(uname -m)
other=$packages/node_modules/$package

install_packages() {
  command -v npm >/dev/null || skip "npm is not installed"
  mkdir -p "$cache"
  stage=$(mktemp -d "$cache/.install.XXXXXX")
  cp "$lock"/package.json "$lock"/package-lock.json "$lock"/.npmrc "$stage"
  echo "installing $package and node into $packages"
  if ! (cd "$stage" && npm ci --loglevel=error --fetch-retries=2 --fetch-timeout=60000) >"$tmp/npm.log" 2>&1; then
    cat "$tmp/npm.log" >&2
    # Only an answer of the network or the registry is a reason to skip; a lock that does not fit or a
    # checksum that differs is a failure.
    code=$(sed -n 's/^npm error code //p' "$tmp/npm.log" | head -n 1)
    case $code in
      E401 | E403 | E404 | E407 | E429 | E5?? | ETARGET | ENOTFOUND | EAI_AGAIN | ECONN* | ENET* | EHOST* | ETIMEDOUT | ERR_SOCKET_TIMEOUT | FETCH_ERROR)
        skip "npm cannot deliver the packages: $code" ;;
      *) fail "npm ci failed: ${code:-see above}" ;;
    esac
  fi
  [ -f "$other/package.json" ] || rm -rf "$packages" # what is left of a folder that somebody cleaned
  # rename(2) through node, because mv would move into a folder that another run just put there.
  node -e 'require("node:fs").renameSync(process.argv[1], process.argv[2])' "$stage" "$packages" 2>"$tmp/rename.log" ||
    [ -f "$other/package.json" ] || fail "cannot put the packages into $packages: $(cat "$tmp/rename.log")"
}
[ -f "$other/package.json" ] || install_packages

# pi needs Node 22.19 or newer.
new_enough() {
  [ "$("$1" -p 'const [a, b] = process.versions.node.split(".").map(Number); a > 22 || (a === 22 && b >= 19)' 2>/dev/null)" = true ]
}
node=$packages/node_modules/node/bin/node
new_enough "$node" || node=$(command -v node || true)
new_enough "$node" || skip "npm delivered no Node, and the system has none of 22.19 or newer"

binary=${PIWEB_BIN:-}
if [ -z "$binary" ]; then
  binary=$tmp/piweb
  (cd "$root" && go build -o "$binary" ./cmd/piweb) || fail "piweb does not build"
fi

(cd "$root" && go build -o "$tmp/made" ./interop/made) || fail "interop/made does not build"
export INTEROP_MADE=$tmp/made

binary=$(command -v "$binary") || fail "PIWEB_BIN is not a program: $PIWEB_BIN"

"$node" "$lock/check.mjs" "$flag" "$other" --piweb "$binary" --tmp "$tmp" "$@"
