// A provider on the loopback interface, on each wire of wires.mjs. It answers by rule, never
// by chance, and keeps every request it was sent.
//
// The last user message decides the answer:
//   use NAME {json}    one call of the tool NAME; once its result is there, a text
//   misbehave KIND     what a server must not do, each time: see `misdeeds`; or what it does
//                      before it answers, see `refusals`
//   anything else      the text of `answerTo(message)`
import { createServer } from "node:http";
import { frame, WIRES } from "./wires.mjs";

const USAGE = { input: 40, output: 8 };

/** The answer to a user's text: its first line, shortened, so that a transcript reads by itself. */
export function answerTo(text) {
  return `answer to <${text.split("\n", 1)[0].slice(0, 60)}>`;
}

/** The user's text that makes the model call a tool. */
export function use(name, args) {
  return `use ${name} ${JSON.stringify(args)}`;
}

/** The wire that a request came by. */
const wires = new WeakMap();

/**
 * Starts the provider. requests grows by {client, body} per request, where client is
 * the key the request came with.
 */
export async function startProvider() {
  const requests = [];
  const refused = new Map(); // how often, by wire and kind
  let onStall = () => {};
  const answer = async (request, response) => {
    let text = "";
    request.setEncoding("utf8");
    for await (const chunk of request) text += chunk;
    const refuse = (wire, status, message, headers) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(wire.refusal(status, message)));
    };
    const [api, wire] = Object.entries(WIRES).find(([, w]) => request.method === "POST" && w.serves(request.url)) ?? [];
    if (!wire) return refuse(WIRES["openai-completions"], 404, "no such route");
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      return refuse(wire, 400, "the body is not JSON");
    }
    wires.set(body, wire);
    requests.push({ client: wire.key(request.headers), body });
    const { kind, answered, call, text: said } = wish(wire.turns(body));
    const refusal = refusals[kind];
    if (refusal) {
      const key = `${api} ${kind}`, times = refused.get(key) ?? 0;
      if (times < refusal.times) {
        refused.set(key, times + 1);
        return refuse(wire, refusal.status, refusal.message, refusal.headers);
      }
    }
    const send = (events) => events.map(frame).join("");
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (misdeeds[kind] && !answered) {
      const events = send(misdeeds[kind](wire));
      if (kind !== "stall") return response.end(events);
      response.write(events); // and no word more
      return onStall();
    }
    const calls = call && !answered;
    const reply = calls ? wire.call(0, { id: `call_${requests.length}`, ...call }) : wire.text(answerTo(said));
    response.end(send([...reply, ...wire.end(calls, USAGE)]));
  };
  // A request cut off by its sender is the sender's affair.
  const server = createServer((request, response) => void answer(request, response).catch((error) => response.destroy(error)));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    requests,
    /** Resolves when an answer has begun and stands still. */
    stalled: () => new Promise((resolve) => (onStall = resolve)),
    /** What one program asked, in order, from the given count on. */
    from: (client, start = 0) => requests.filter((r) => r.client === client).slice(start).map((r) => r.body),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What the last user message asks for, and whether a tool has answered since. */
function wish(turns) {
  const at = turns.findLastIndex((t) => t.role === "user");
  const text = at < 0 ? "" : turns[at].text;
  const wanted = text.match(/^use (\S+) (.*)$/);
  return {
    text,
    kind: text.match(/^misbehave (\S+)$/)?.[1],
    call: wanted && { name: wanted[1], arguments: wanted[2] },
    answered: turns.slice(at + 1).some((t) => t.role === "tool"),
  };
}

/** The names of the tools a request offers, in its order. */
export function offeredTools(body) {
  return wires.get(body).tools(body);
}

/**
 * The conversation of a request as lines that can be compared: without system
 * messages, and without the freedoms of the format (parts or string, null or "").
 * Of a summary, only the summary counts; each program introduces it in its own words.
 */
export function conversation(body) {
  return wires.get(body).turns(body).map((t) => {
    const calls = t.calls.map((c) => [c.id, c.name, canonical(c.arguments)].filter(Boolean).join(" "));
    const text = t.text.replace(/^[^]*<summary>\n([^]*?)\n?<\/summary>$/, "<summary> $1");
    return [t.role, t.id, JSON.stringify(text), ...calls].filter(Boolean).join(" ");
  });
}

function canonical(json) {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}

/** What a server must not do, as the events of an answer. */
const misdeeds = {
  cut: (wire) => wire.text("half an answer").slice(0, -1),
  stall: (wire) => wire.text("half an answer, then silence").slice(0, -1),
  json: () => ['{"choices":[{"index":0,'],
  arguments: (wire) => [...wire.call(0, { id: "bad1", name: "read", arguments: '{"path": nope' }), ...wire.end(true)],
  duplicate: (wire) => [...[0, 1].flatMap((n) => wire.call(n, { id: "same", name: "ls", arguments: "{}" })), ...wire.end(true)],
  "old-id": (wire) => [...wire.call(0, { id: "again", name: "ls", arguments: "{}" }), ...wire.end(true)],
  huge: (wire) => [...wire.text("one huge delta 大きい ".repeat(16_000), 1), ...wire.end(false)], // 400 kB, which still fits the model's window
  silent: (wire) => [...wire.text("no word of tokens"), ...wire.end(false)],
};

/** How a server refuses: this often, and then it answers. */
const refusals = {
  busy: { times: Infinity, status: 429, message: "Too many requests." },
  "busy-hint": { times: 1, status: 429, headers: { "retry-after": "1" }, message: "Too many requests." },
  broken: { times: 2, status: 500, message: "Internal error." },
};
