// A chat-completions provider on the loopback interface. It answers by rule, never
// by chance, and keeps every request it was sent.
//
// The last user message decides the answer:
//   use NAME {json}    one call of the tool NAME; once its result is there, a text
//   misbehave KIND     what a server must not do, each time: see `misdeeds`; or what it does
//                      before it answers, see `refusals`
//   anything else      the text of `answerTo(message)`
import { createServer } from "node:http";

const PATH = "/v1/chat/completions";

/** The answer to a user's text: its first line, shortened, so that a transcript reads by itself. */
export function answerTo(text) {
  return `answer to <${text.split("\n", 1)[0].slice(0, 60)}>`;
}

/** The user's text that makes the model call a tool. */
export function use(name, args) {
  return `use ${name} ${JSON.stringify(args)}`;
}

/**
 * Starts the provider. requests grows by {client, body} per request, where client is
 * the bearer key the request came with.
 */
export async function startProvider() {
  const requests = [];
  const refused = new Map(); // how often, by the text
  let onStall = () => {};
  const answer = async (request, response) => {
    let text = "";
    request.setEncoding("utf8");
    for await (const chunk of request) text += chunk;
    if (request.method !== "POST" || request.url !== PATH) {
      return response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"no such route"}}');
    }
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      return response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"the body is not JSON"}}');
    }
    requests.push({ client: (request.headers.authorization ?? "").replace(/^Bearer /, ""), body });
    const refusal = refusals[wanted(body.messages ?? [])];
    if (refusal) {
      const times = refused.get(refusal) ?? 0;
      if (times < refusal.times) {
        refused.set(refusal, times + 1);
        response.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers });
        return response.end(JSON.stringify({ error: { message: refusal.message } }));
      }
    }
    const events = misdeed(body.messages ?? []);
    if (events) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (events === misdeeds.stall) { // and no word more
        response.write(events.map((data) => `data: ${data}\n\n`).join(""));
        return onStall();
      }
      return response.end(events.map((data) => `data: ${data}\n\n`).join(""));
    }
    const reply = decide(body.messages ?? [], requests.length);
    body.stream ? stream(response, body, reply) : whole(response, body, reply);
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

/** The plain text of a chat message. */
export function textOf(message) {
  const { content } = message;
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/** The names of the tools a request offers, in its order. */
export function offeredTools(body) {
  return (body.tools ?? []).map((tool) => tool.function.name);
}

/**
 * The conversation of a request as lines that can be compared: without system
 * messages, and without the freedoms of the format (parts or string, null or "").
 * Of a summary, only the summary counts; each program introduces it in its own words.
 */
export function conversation(body) {
  return body.messages
    .filter((m) => m.role !== "system" && m.role !== "developer")
    .map((m) => {
      const calls = (m.tool_calls ?? []).map((c) => `${c.id} ${c.function.name} ${canonical(c.function.arguments)}`);
      const text = textOf(m).replace(/^[^]*<summary>\n([^]*?)\n?<\/summary>$/, "<summary> $1");
      return [m.role, m.tool_call_id, JSON.stringify(text), ...calls].filter(Boolean).join(" ");
    });
}

function canonical(json) {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}

/** What a server must not do, as the raw events of an answer. */
const misdeeds = {
  cut: ['{"choices":[{"index":0,"delta":{"content":"half an ans"}}]}'],
  stall: ['{"choices":[{"index":0,"delta":{"content":"half an answer, then silence"}}]}'],
  json: ['{"choices":[{"index":0,'],
  arguments: [
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"bad1","type":"function","function":{"name":"read","arguments":"{\\"path\\": nope"}}]}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}', "[DONE]",
  ],
  duplicate: [
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"same","type":"function","function":{"name":"ls","arguments":"{}"}},{"index":1,"id":"same","type":"function","function":{"name":"ls","arguments":"{}"}}]}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}', "[DONE]",
  ],
  // one event of 400 kB, which still fits the model's window
  huge: [JSON.stringify({ choices: [{ index: 0, delta: { content: "one huge delta 大きい ".repeat(16_000) } }] }), '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', "[DONE]"],
  silent: ['{"choices":[{"index":0,"delta":{"content":"no word of tokens"}}]}', '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', "[DONE]"],
};

/** How a server refuses: this often, and then it answers. */
const refusals = {
  busy: { times: Infinity, status: 429, message: "Too many requests." },
  "busy-hint": { times: 1, status: 429, headers: { "retry-after": "1" }, message: "Too many requests." },
  broken: { times: 2, status: 500, message: "Internal error." },
};

/** The misdeed that the last user message asks for. */
function wanted(messages) {
  const at = messages.findLastIndex((m) => m.role === "user");
  return at < 0 ? null : textOf(messages[at]).match(/^misbehave (\S+)$/)?.[1];
}

/** Its events, once a turn. */
function misdeed(messages) {
  const at = messages.findLastIndex((m) => m.role === "user");
  return messages.slice(at + 1).some((m) => m.role === "tool") ? null : misdeeds[wanted(messages)];
}

function decide(messages, serial) {
  const at = messages.findLastIndex((m) => m.role === "user");
  const text = at < 0 ? "" : textOf(messages[at]);
  const wanted = text.match(/^use (\S+) (.*)$/);
  const answered = messages.slice(at + 1).some((m) => m.role === "tool");
  if (!wanted || answered) return { content: answerTo(text) };
  return { call: { id: `call_${serial}`, type: "function", function: { name: wanted[1], arguments: wanted[2] } } };
}

const USAGE = { prompt_tokens: 40, completion_tokens: 8, total_tokens: 48 };

function stream(response, body, reply) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (chunk) =>
    response.write(`data: ${JSON.stringify({ id: "reply", object: "chat.completion.chunk", created: 1, model: body.model, ...chunk })}\n\n`);
  const delta = (value, finish = null) => send({ choices: [{ index: 0, delta: value, finish_reason: finish }] });
  if (reply.call) {
    delta({ role: "assistant", content: null, tool_calls: [{ index: 0, ...reply.call, function: { name: reply.call.function.name, arguments: "" } }] });
    delta({ tool_calls: [{ index: 0, function: { arguments: reply.call.function.arguments } }] });
    delta({}, "tool_calls");
  } else {
    // Two pieces: the answer must be put together by the reader.
    const middle = reply.content.length >> 1;
    delta({ role: "assistant", content: reply.content.slice(0, middle) });
    delta({ content: reply.content.slice(middle) });
    delta({}, "stop");
  }
  send({ choices: [], usage: USAGE });
  response.end("data: [DONE]\n\n");
}

function whole(response, body, reply) {
  const message = reply.call ? { role: "assistant", content: null, tool_calls: [reply.call] } : { role: "assistant", content: reply.content };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      id: "reply", object: "chat.completion", created: 1, model: body.model, usage: USAGE,
      choices: [{ index: 0, message, finish_reason: reply.call ? "tool_calls" : "stop" }],
    }),
  );
}
