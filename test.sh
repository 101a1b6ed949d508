#!/usr/bin/env bash
# Runs the tests of the project. Needs Go and git, nothing else.
#
#   ./test.sh              format, vet, builds for three systems, tests with -race
#   ./test.sh --interop    also the checks against real pi and pi-web (needs npm)
#   ./test.sh --page       also the types and units of the page (needs npm)
#   ./test.sh --quick      tests without -race and without the other systems
set -euo pipefail
cd "$(dirname "$0")"

interop=no page=no quick=no
for arg in "$@"; do
  case "$arg" in
    --interop) interop=yes ;;
    --page) page=yes ;;
    --quick) quick=yes ;;
    *) echo "test.sh: unknown option $arg (there are --interop, --page and --quick)" >&2; exit 2 ;;
  esac
done

step() { printf '\n== %s\n' "$1"; }

step "format"
unformatted=$(gofmt -l $(git ls-files --cached --others --exclude-standard '*.go'))
if [ -n "$unformatted" ]; then
  printf 'not formatted, run gofmt -w:\n%s\n' "$unformatted" >&2
  exit 1
fi

if [ "$quick" = yes ]; then
  step "tests"
  go vet ./...
  go test ./...
else
  for os in linux darwin windows; do
    step "vet and build for $os"
    CGO_ENABLED=0 GOOS=$os go vet ./...
    CGO_ENABLED=0 GOOS=$os go build -o /dev/null ./cmd/piweb
  done
  step "tests with the race detector"
  go test -race -timeout 20m ./...
fi

if [ "$page" = yes ]; then
  step "types and units of the page"
  web/check.sh
fi

if [ "$interop" = yes ]; then
  step "interop with real pi"
  interop/run.sh
  step "interop with real pi-web"
  interop/run.sh --pi-web
fi

printf '\nall tests passed\n'
