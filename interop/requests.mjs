// What the provider was asked: the tools offered and the conversation shown.
import { claim, sameLines, startsWith } from "./expect.mjs";
import { conversation, offeredTools } from "./provider.mjs";

/**
 * Notes what a program asks the provider while work runs. Returns the request bodies;
 * at least one is claimed.
 */
export async function asked(provider, client, work) {
  const start = provider.from(client).length;
  await work();
  const bodies = provider.from(client, start);
  claim(bodies.length > 0, `${client} sent the provider no request`);
  return bodies;
}

/** Each request offers exactly these tools; the order is the program's own. */
export function offers(bodies, tools, who) {
  for (const body of bodies) {
    sameLines([...tools].sort(), offeredTools(body).sort(), `${who} offered the model other tools (+) than the session has (-)`);
  }
}

/** The later request shows the model the whole earlier conversation, unchanged, and then goes on. */
export function goesOn(earlier, later, message) {
  const before = conversation(earlier), after = conversation(later);
  startsWith(before, after, message);
  claim(after.length > before.length, `${message}: nothing was added to it`);
}
