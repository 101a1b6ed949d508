// Skills, prompt templates and context files: both programs find the same ones in
// the same folders, and give the same one a name that two of them have.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sameLines } from "../expect.mjs";

const skill = (name, description, more = "") => `---\n${name ? `name: ${name}\n` : ""}${description ? `description: ${description}\n` : ""}${more}---\n\nDo it.\n`;

export default function ({ pi, piweb, makeHome }) {
  const home = makeHome({ skills: ["more", "!off-by-glob", "-skills/off-by-path", "!back", "+skills/back"], prompts: ["extra/one.md"], packages: [
    "npm:@made/plain@^1.0.0", { source: "git:example.org/made/picked", skills: ["skills/*", "!skills/not"], prompts: [] },
    "https://example.org/made/listed.git@v1", { source: "npm:opted", autoload: false, skills: ["+skills/in"] }, "../here",
  ] });
  const project = join(home.work, "proj", "sub dir 日本");
  const put = (path, text) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const git = join(home.work, "proj");
  put(join(git, ".git", "HEAD"), "");
  const places = {
    pi: join(project, ".pi", "skills"), agents: join(project, ".agents", "skills"), up: join(git, ".agents", "skills"), above: join(home.work, ".agents", "skills"),
    user: join(home.agentDir, "skills"), home: join(home.home, ".agents", "skills"), settings: join(home.agentDir, "more"), projectSettings: join(project, "own"),
  };
  for (const [where, dir] of Object.entries(places)) {
    put(join(dir, `only-${where.toLowerCase()}`, "SKILL.md"), skill("", `of ${where}`));
    put(join(dir, "shared", "SKILL.md"), skill("shared", `of ${where}`));
    put(join(dir, "group", "deep", "er", "SKILL.md"), skill(`deep-${where.toLowerCase()}`, "d"));
    put(join(dir, "root.md"), skill(`root-${where.toLowerCase()}`, "d"));
    put(join(dir, "group", "file.md"), skill(`file-${where.toLowerCase()}`, "d"));
    put(join(dir, "note.md"), "just a note");
    put(join(dir, ".dot", "SKILL.md"), skill("dot", "d"));
    put(join(dir, "node_modules", "m", "SKILL.md"), skill("module", "d"));
  }
  for (const name of ["off-by-glob", "off-by-path", "back"]) put(join(places.user, name, "SKILL.md"), skill(name, "d"));
  put(join(places.user, "hidden", "SKILL.md"), skill("hidden", "d", "disable-model-invocation: true\n"));
  put(join(places.user, "silent", "SKILL.md"), skill("silent", ""));
  put(join(places.user, "Odd Name", "SKILL.md"), skill("", "d"));
  put(join(places.user, "inner", "SKILL.md"), skill("inner", "d"));
  put(join(places.user, "inner", "below", "SKILL.md"), skill("below", "d"));
  put(join(places.user, ".gitignore"), "/ignored\n*.tmp.md\n");
  put(join(places.user, "ignored", "SKILL.md"), skill("ignored", "d"));
  put(join(places.user, "x.tmp.md"), skill("ignored-file", "d"));
  put(join(home.home, "elsewhere", "linked", "SKILL.md"), skill("linked", "d"));
  symlinkSync(join(home.home, "elsewhere", "linked"), join(places.user, "link-to"));
  symlinkSync(join(places.user, "inner"), join(places.user, "zz-again"));
  put(join(project, ".pi", "settings.json"), JSON.stringify({ skills: ["../own"], packages: ["npm:team", { source: "npm:@made/plain", autoload: false, skills: ["-skills/not"] }] }));

  put(join(home.agentDir, "prompts", "both.md"), "user's");
  put(join(home.agentDir, "prompts", "fallback.md"), "\n\nA first line of more than sixty letters, which is cut somewhere in its middle, here\n");
  put(join(home.agentDir, "prompts", "full.md"), "---\ndescription: All of it\nargument-hint: \"[x]\"\n---\nbody $1\n");
  put(join(home.agentDir, "prompts", "below", "no.md"), "not direct");
  put(join(home.agentDir, "extra", "one.md"), "by settings");
  put(join(project, ".pi", "prompts", "both.md"), "project's");

  const roots = {
    plain: join(home.agentDir, "npm", "node_modules", "@made", "plain"), picked: join(home.agentDir, "git", "example.org", "made", "picked"),
    listed: join(home.agentDir, "git", "example.org", "made", "listed"), opted: join(home.agentDir, "npm", "node_modules", "opted"),
    here: join(home.agentDir, "..", "here"), team: join(project, ".pi", "npm", "node_modules", "team"),
  };
  for (const [name, root] of Object.entries(roots)) {
    const lists = name === "listed" ? { pi: { skills: ["./mine", "!mine/not", "more/*"] } } : {};
    put(join(root, "package.json"), JSON.stringify({ name, version: "1.2.3", ...lists }));
    for (const s of ["yes", "not", "in", "shared"]) {
      for (const dir of ["skills", "mine"]) put(join(root, dir, s, "SKILL.md"), skill(s === "shared" ? s : `${s}-${name}-${dir}`, "d"));
    }
    put(join(root, "more", "of", "SKILL.md"), skill(`of-${name}`, "d"));
    put(join(root, "prompts", `p-${name}.md`), "of a package");
    put(join(root, "prompts", "deep", `d-${name}.md`), "of a package, deeper");
    put(join(root, "prompts", "both.md"), "of a package");
  }

  put(join(home.agentDir, "AGENTS.md"), "agent");
  put(join(home.work, "CLAUDE.md"), "work");
  put(join(git, "AGENTS.override.md"), "override");
  put(join(git, "AGENTS.md"), "hidden");
  put(join(project, "AGENTS.md"), "proj");

  const both = async (untrusted) => {
    put(join(home.agentDir, "trust.json"), JSON.stringify({ [project]: !untrusted }));
    return [await pi.load(home, project, untrusted), await piweb.resources(home, project)];
  };
  const skills = (list) => list.map((s) => `${s.path} ${s.name} ${s.hidden ? "hidden " : ""}${s.description}`);
  const templates = (list) => list.map((t) => `${t.path} ${t.name} [${t.hint ?? ""}] ${t.description}`);
  const steps = [];
  for (const untrusted of [false, true]) {
    const when = untrusted ? "without trust" : "with trust";
    steps.push(
      [`${when} both find the same skills in the same order`, async () => {
        const [theirs, ours] = await both(untrusted);
        sameLines(skills(theirs.skills), skills(ours.skills), "piweb (+) and pi (-) differ about skills");
      }],
      [`${when} both find the same prompt templates in the same order`, async () => {
        const [theirs, ours] = await both(untrusted);
        sameLines(templates(theirs.templates), templates(ours.templates), "piweb (+) and pi (-) differ about templates");
      }],
      [`${when} both find the same context files in the same order`, async () => {
        const [theirs, ours] = await both(untrusted);
        sameLines(theirs.context, ours.files.filter((f) => f.kind === "context").map((f) => f.path), "piweb (+) and pi (-) differ about context files");
      }],
    );
  }
  return steps;
}
