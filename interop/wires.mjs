// The providers' wires, as far as the check needs them: what a request says, and the
// events of an answer. One object per wire, all of the same shape:
//
//   base(port)      what models.json names as the address
//   serves(url)     whether a request's path belongs to it
//   key(headers)    the key that came with a request
//   tools(body)     the names of the tools that are offered
//   turns(body)     the conversation as {role: "user"|"assistant"|"tool", id?, text, calls}
//   text(text, pieces = 2)  the events of a text, in that many; it comes first in an answer
//   call(n, call)   those of the n-th call {id, name, arguments: text}
//   end(calls, usage)  those of the end; without usage no word of tokens
//   refusal(status, message)  the body of a refusal
//
// Events are objects, or strings that are sent as they are.

/** A text in pieces: the answer must be put together by its reader. */
const pieces = (text, count) => (count === 1 ? [text] : [text.slice(0, text.length >> 1), text.slice(text.length >> 1)].filter(Boolean));
const bearer = (headers) => (headers.authorization ?? "").replace(/^Bearer /, "");
const joined = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));
const turn = (role, text, more = {}) => ({ role, text, calls: [], ...more });

const chat = {
  base: (port) => `http://127.0.0.1:${port}/v1`,
  serves: (url) => url === "/v1/chat/completions",
  key: bearer,
  tools: (body) => (body.tools ?? []).map((tool) => tool.function.name),
  turns: (body) =>
    body.messages
      .filter((m) => m.role !== "system" && m.role !== "developer")
      .map((m) => turn(m.role, joined(m.content), {
        id: m.tool_call_id,
        calls: (m.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, arguments: c.function.arguments })),
      })),
  chunk: (delta, finish = null) => ({ id: "reply", object: "chat.completion.chunk", created: 1, choices: [{ index: 0, delta, finish_reason: finish }] }),
  text: (text, count) => pieces(text, count).map((content) => chat.chunk({ role: "assistant", content })),
  call: (index, { id, name, arguments: args }) => [
    chat.chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    chat.chunk({ tool_calls: [{ index, function: { arguments: args } }] }),
  ],
  end: (calls, usage) => [
    chat.chunk({}, calls ? "tool_calls" : "stop"),
    ...(usage ? [{ choices: [], usage: { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output } }] : []),
    "[DONE]",
  ],
  refusal: (status, message) => ({ error: { message } }),
};

const responses = {
  ...chat,
  serves: (url) => url === "/v1/responses",
  tools: (body) => (body.tools ?? []).map((tool) => tool.name),
  turns: (body) => {
    const turns = [];
    let answer = null; // items of one answer are one turn
    for (const item of body.input) {
      if (item.type === "function_call" || item.role === "assistant") {
        if (!answer) turns.push((answer = turn("assistant", "")));
        if (item.role === "assistant") answer.text += joined(item.content);
        else answer.calls.push({ id: item.call_id, name: item.name, arguments: item.arguments });
      } else if (item.type === "function_call_output") {
        turns.push(turn("tool", joined(item.output), { id: item.call_id }));
        answer = null;
      } else if (item.role === "user") {
        turns.push(turn("user", joined(item.content)));
        answer = null;
      }
    }
    return turns;
  },
  text: (text, count) => [
    { type: "response.created", response: { id: "resp_1" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [] } },
    { type: "response.content_part.added", output_index: 0, content_index: 0, item_id: "msg_1", part: { type: "output_text", text: "", annotations: [] } },
    ...pieces(text, count).map((delta) => ({ type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "msg_1", delta })),
    { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] } },
  ],
  call: (n, { id, name, arguments: args }) => {
    const at = { output_index: n + 1 };
    const item = { type: "function_call", id: `fc_${id}_${n}`, call_id: id, name };
    return [
      { type: "response.output_item.added", ...at, item: { ...item, arguments: "" } },
      { type: "response.function_call_arguments.delta", ...at, item_id: item.id, delta: args },
      { type: "response.function_call_arguments.done", ...at, item_id: item.id, arguments: args },
      { type: "response.output_item.done", ...at, item: { ...item, arguments: args } },
    ];
  },
  end: (calls, usage) => [{ type: "response.completed", response: {
    id: "resp_1", status: "completed",
    ...(usage ? { usage: { input_tokens: usage.input, output_tokens: usage.output, total_tokens: usage.input + usage.output } } : {}),
  } }],
};

const messages = {
  base: (port) => `http://127.0.0.1:${port}`,
  serves: (url) => url.split("?")[0] === "/v1/messages",
  key: (headers) => headers["x-api-key"] ?? "",
  tools: (body) => (body.tools ?? []).map((tool) => tool.name),
  turns: (body) =>
    body.messages.flatMap((m) => {
      const blocks = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content;
      const said = (list) => list.filter((b) => b.type === "text").map((b) => b.text).join("");
      if (m.role === "assistant") {
        return [turn("assistant", said(blocks), {
          calls: blocks.filter((b) => b.type === "tool_use").map((b) => ({ id: b.id, name: b.name, arguments: JSON.stringify(b.input) })),
        })];
      }
      // The wire puts results and what the user says into one message.
      return blocks
        .filter((b) => b.type === "text" || b.type === "tool_result")
        .map((b) => (b.type === "text" ? turn("user", b.text) : turn("tool", joined(b.content), { id: b.tool_use_id })));
    }),
  start: { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "fake-1", content: [], usage: { input_tokens: 40, output_tokens: 1 } } },
  text: (text, count) => [
    messages.start,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...pieces(text, count).map((piece) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } })),
    { type: "content_block_stop", index: 0 },
  ],
  call: (n, { id, name, arguments: args }) => [
    ...(n === 0 ? [messages.start] : []),
    { type: "content_block_start", index: n + 1, content_block: { type: "tool_use", id, name, input: {} } },
    { type: "content_block_delta", index: n + 1, delta: { type: "input_json_delta", partial_json: args } },
    { type: "content_block_stop", index: n + 1 },
  ],
  end: (calls, usage) => [
    { type: "message_delta", delta: { stop_reason: calls ? "tool_use" : "end_turn" }, ...(usage ? { usage: { output_tokens: usage.output } } : {}) },
    { type: "message_stop" },
  ],
  refusal: (status, message) => ({ type: "error", error: { type: "api_error", message } }),
};

const generate = {
  base: (port) => `http://127.0.0.1:${port}/v1beta`,
  serves: (url) => /^\/v1beta\/models\/[^/]+:streamGenerateContent\b/.test(url),
  key: (headers) => headers["x-goog-api-key"] ?? "",
  tools: (body) => (body.tools ?? []).flatMap((set) => set.functionDeclarations ?? []).map((f) => f.name),
  turns: (body) =>
    body.contents.flatMap((c) => {
      const text = (parts) => parts.map((p) => p.text ?? "").join("");
      if (c.role === "model") {
        return [turn("assistant", text(c.parts), {
          calls: c.parts.filter((p) => p.functionCall).map((p) => ({ name: p.functionCall.name, arguments: JSON.stringify(p.functionCall.args) })),
        })];
      }
      return c.parts
        .filter((p) => p.text !== undefined || p.functionResponse)
        .map((p) => {
          if (!p.functionResponse) return turn("user", p.text);
          const { output, error } = p.functionResponse.response;
          return turn("tool", output ?? error, { id: p.functionResponse.name });
        });
    }),
  part: (part) => ({ candidates: [{ content: { role: "model", parts: [part] } }] }),
  text: (text, count) => pieces(text, count).map((piece) => generate.part({ text: piece })),
  call: (n, { id, name, arguments: args }) => {
    let value = args; // what is no JSON can only come as a text
    try {
      value = JSON.parse(args);
    } catch {}
    return [generate.part({ functionCall: { id, name, args: value } })];
  },
  end: (calls, usage) => [{
    candidates: [{ finishReason: "STOP" }],
    ...(usage ? { usageMetadata: { promptTokenCount: usage.input, candidatesTokenCount: usage.output, totalTokenCount: usage.input + usage.output } } : {}),
  }],
  refusal: (status, message) => ({ error: { code: status, message, status: "INTERNAL" } }),
};

/** By the names that a models.json knows. */
export const WIRES = { "openai-completions": chat, "openai-responses": responses, "anthropic-messages": messages, "google-generative-ai": generate };

/** An event as it stands in a stream; some readers want its name in front. */
export function frame(event) {
  if (typeof event === "string") return `data: ${event}\n\n`;
  return `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
}
