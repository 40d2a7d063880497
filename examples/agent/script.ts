// Scripted mode: a conversation that uses every feature, sent at once and followed to its end.
//   - It can be repeated: messages and decisions have request ids, so that a second run after a crash sends nothing
//        twice and continues to wait.

import { setTimeout as pause } from "node:timers/promises";
import { isPerdureError, type Handle } from "../../src/index.ts";
import {
  decision,
  inbox,
  replyKey,
  type AgentInput,
  type AgentResult,
  type AgentStatus,
  type Sent,
} from "./protocol.ts";

export const SCRIPT_LIMITS = {
  budget: 300,
  turnsPerExecution: 3,
} as const satisfies Partial<AgentInput>;

const say = (id: string, text: string): Sent => ({ kind: "say", id, text });

export const SCRIPT: readonly Sent[] = [
  say("m1", "remember that my name is Ada"),
  say("m2", "calculate 6*7 and then note it"),
  say("m3", "search for idempotency key and then write it to found.md"),
  say("m4", "note buy milk and then note buy bread"),
  say("m5", "write a draft to old.txt and then delete old.txt"),
  say("m6", "write a treasure to keep.txt and then delete keep.txt"),
  say("m7", "calculate 1/0 and then note it"),
  say("m8", "what is my name?"),
  say("m9", "what did we talk about?"),
  say("m10", "note this is one too many"),
  { kind: "budget", tokens: 500 },
  say("m11", "read notes.md"),
  say("m12", "what did we talk about?"),
];

/** The simulated person approves the deletion of drafts, keeps treasures, and needs a moment to decide. */
const isAllowed = (path: string): boolean => path !== "keep.txt";

export async function runScript(
  handle: Handle<AgentResult>,
  decideMs: number,
): Promise<AgentResult> {
  await Promise.all([talk(handle), decideAll(handle, decideMs)]);
  return handle.result();
}

async function talk(handle: Handle<AgentResult>): Promise<void> {
  for (const [place, sent] of SCRIPT.entries()) await send(handle, sent, `script-${place}`);
  for (const sent of SCRIPT) if (sent.kind === "say") await handle.kv.waitFor(replyKey(sent.id));
  await send(handle, { kind: "bye" }, "script-bye");
}

/** If the conversation has already ended, the agent has received the message before. */
async function send(handle: Handle<AgentResult>, sent: Sent, requestId: string): Promise<void> {
  await handle.raise(inbox, sent, { requestId }).catch((error: unknown) => {
    if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
  });
}

async function decideAll(handle: Handle<AgentResult>, decideMs: number): Promise<void> {
  for await (const { customStatus } of handle.watch()) {
    const status = customStatus as AgentStatus | undefined; // only agent.ts sets it
    if (status?.state !== "waiting for approval" || !("path" in status.call)) continue;
    const { request, call } = status;
    const allow = isAllowed(call.path);
    await pause(decideMs);
    await handle.raise(decision, { request, allow, by: "Grace" }, { requestId: request });
  }
}
