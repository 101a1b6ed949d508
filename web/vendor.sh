#!/usr/bin/env bash
# Fetches the page's libraries as vendor.json names them. Needs npm and node; the
# page itself needs neither, and neither does the build.
#
#   web/vendor.sh            fetch, and fail where a file differs from its checksum
#   web/vendor.sh --update   fetch, and write the checksums: after a version was
#                            changed in vendor.json by hand
set -euo pipefail
cd "$(dirname "$0")"

mode=${1:-check}
case "$mode" in check | --update) ;; *) echo "vendor.sh: unknown option $mode" >&2; exit 2 ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

node -e '
  const v = require("./vendor.json");
  for (const name of Object.keys(v.packages)) console.log(name + "@" + v.packages[name].version);
' | while read -r spec; do
  echo "fetching $spec"
  tarball=$(cd "$work" && npm pack --silent "$spec")
  mkdir -p "$work/${spec%@*}"
  tar -xzf "$work/$tarball" -C "$work/${spec%@*}" --strip-components=1
done

node - "$work" "$mode" <<'JS'
const fs = require("fs"), path = require("path"), crypto = require("crypto");
const [work, mode] = process.argv.slice(2);
const v = JSON.parse(fs.readFileSync("vendor.json", "utf8"));
let wrong = 0;
for (const [name, p] of Object.entries(v.packages)) {
  for (const [target, f] of Object.entries(p.files)) {
    const data = fs.readFileSync(path.join(work, name, f.from));
    const sum = crypto.createHash("sha256").update(data).digest("hex");
    if (mode === "--update") f.sha256 = sum;
    else if (sum !== f.sha256) {
      console.error(`${target}: ${sum} is not the checksum in vendor.json (${f.sha256})`);
      wrong++;
      continue;
    }
    const to = path.join("page/vendor", target);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, data);
  }
}
if (mode === "--update") fs.writeFileSync("vendor.json", JSON.stringify(v, null, 2) + "\n");
process.exit(wrong ? 1 : 0);
JS
echo "page/vendor is as vendor.json says"
