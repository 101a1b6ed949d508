// A picture that piweb admitted goes on in pi, and one that pi read goes on in piweb. What
// counts is what reaches the provider.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync, crc32 } from "node:zlib";
import { claim, untouched } from "../expect.mjs";
import { PI } from "../pi.mjs";
import { PIWEB } from "../piweb.mjs";
import { asked } from "../requests.mjs";
import { agree, oneBranch } from "../views.mjs";

/** A grey PNG; noise makes it as large as wanted. */
function png(width, height, noise) {
  const chunk = (name, body) => {
    const out = Buffer.concat([Buffer.alloc(4), Buffer.from(name), body, Buffer.alloc(4)]);
    out.writeUInt32BE(body.length, 0);
    out.writeUInt32BE(crc32(out.subarray(4, out.length - 4)), out.length - 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const rows = Buffer.alloc((width + 1) * height);
  let seed = 7;
  for (let i = 0; i < rows.length; i++) if (i % (width + 1)) rows[i] = noise ? (seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 16 : (i * 7) & 255;
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

/** The pictures of a request, as data URLs. */
const pictures = (body) => body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((p) => p.type === "image_url").map((p) => p.image_url.url);
const last = (bodies) => bodies[bodies.length - 1];

export default function ({ pi, piweb, provider, makeHome }) {
  const home = makeHome();
  const small = png(40, 30, false);
  const wide = png(2600, 900, true);
  let file;

  return [
    ["a picture piweb read is the same picture when pi goes on", async () => {
      writeFileSync(join(home.work, "shot.png"), small);
      file = await piweb.create(home, 'use read {"path":"shot.png"}');
      const written = readFileSync(file);
      const bodies = await asked(provider, PI, () => pi.resume(home, file, "what was on it?"));
      const got = pictures(last(bodies));
      claim(got.length === 1 && got[0] === `data:image/png;base64,${small.toString("base64")}`, `pi sent ${got.length} pictures, or another one`);
      untouched(written, readFileSync(file).subarray(0, written.length));
    }],
    ["piweb goes on after pi, with the picture", async () => {
      const bodies = await asked(provider, PIWEB, () => piweb.prompt(home, file, "and now?"));
      claim(pictures(last(bodies)).length === 1, "piweb sent no picture");
      oneBranch(await agree({ pi, piweb }, home, file));
    }],
    ["a large picture is bounded by piweb, and pi sends it as it is stored", async () => {
      writeFileSync(join(home.work, "wide.png"), wide);
      await piweb.prompt(home, file, 'use read {"path":"wide.png"}');
      const bodies = await asked(provider, PI, () => pi.resume(home, file, "is it wide?"));
      const got = pictures(last(bodies));
      claim(got.length === 2, `pi sent ${got.length} pictures`);
      claim(readFileSync(file, "utf8").includes(got[1].split(",")[1]), "pi changed the picture that is stored");
    }],
    ["a picture pi read goes on in piweb", async () => {
      const begun = await pi.run(home, [], 'use read {"path":"shot.png"}');
      const bodies = await asked(provider, PIWEB, () => piweb.prompt(home, begun, "what was on it?"));
      const got = pictures(last(bodies));
      claim(got.length === 1 && got[0] === `data:image/png;base64,${small.toString("base64")}`, `piweb sent ${got.length} pictures, or another one`);
    }],
  ];
}
