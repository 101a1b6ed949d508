#!/usr/bin/env bash
# Checks the page with tools that are installed outside the checkout.
#
#   web/check.sh               types (tsc --checkJs, strict), and tests of what needs
#                              no browser
#   web/check.sh --drive       also does in a browser what people do, against a mock
#                              of the server
#   web/check.sh --shots DIR   also takes screenshots into DIR, and looks at console,
#                              accessibility (axe) and number of rows on each
#
# Needs node and npm; a browser is a Chromium, at BROWSER or /usr/bin/chromium.
set -euo pipefail
cd "$(dirname "$0")"

cache=${PIWEB_WEB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/piweb-web-check}
mkdir -p "$cache"
want="typescript@7.0.2 preact@11.2.0 htm@3.1.1 marked@18.2.1 dompurify@3.5.0 highlight.js@11 playwright-core@1 axe-core@4"
if [ "$(cat "$cache/installed" 2>/dev/null)" != "$want" ]; then
  echo "installing the tools into $cache"
  (cd "$cache" && { [ -f package.json ] || echo '{"private":true}' >package.json; } && npm install --silent --no-audit --no-fund $want)
  echo "$want" >"$cache/installed"
fi

# The page's import map knows files; the checker needs the packages' types.
modules="$cache/node_modules"
cat >"$cache/tsconfig.json" <<JSON
{
  "extends": "$PWD/tsconfig.json",
  "compilerOptions": {
    "paths": {
      "preact": ["$modules/preact/src/index.d.ts"],
      "preact/hooks": ["$modules/preact/hooks/src/index.d.ts"],
      "htm": ["$modules/htm/dist/htm.d.ts"],
      "marked": ["$modules/marked"],
      "dompurify": ["$modules/dompurify"],
      "highlight.js": ["$modules/highlight.js"]
    }
  },
  "include": ["$PWD/page/*.js"]
}
JSON
"$modules/.bin/tsc" -p "$cache/tsconfig.json"
echo "types are clean"

node --test dev/unit.mjs >"$cache/unit.log" 2>&1 || { cat "$cache/unit.log"; exit 1; }
echo "unit tests passed"

case "${1:-}" in
  --shots) CACHE="$cache" node dev/shots.mjs "${2:?a folder for the screenshots}" ${3:+"$3"} ;;
  --drive) CACHE="$cache" node dev/drive.mjs ${2:+"$2"} ;;
  "") ;;
  *) echo "check.sh: unknown option $1" >&2; exit 2 ;;
esac
