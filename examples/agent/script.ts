// Scripted mode: a conversation that uses every feature, sent at once and followed to its end.
//   - It can be repeated: messages and decisions are requests with ids, so that a second run after a crash sends
//        nothing twice and gets the same answers.

import { setTimeout as pause } from "node:timers/promises";
import { isPerdureError, RequestError, type Handle } from "../../src/index.ts";
import {
  activityOfAgent,
  addBudget,
  bye,
  decide,
  say,
  type AgentInput,
  type AgentResult,
} from "./protocol.ts";

export const SCRIPT_LIMITS = {
  budget: 300,
  turnsPerExecution: 3,
} as const satisfies Partial<AgentInput>;

/** The agent answers one message after the other. */
const PATIENCE = { timeout: "1h" } as const;

export type Sent =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "budget"; readonly tokens: number };
const message = (text: string): Sent => ({ kind: "say", text });

export const SCRIPT: readonly Sent[] = [
  message("remember that my name is Ada"),
  message("calculate 6*7 and then note it"),
  message("search for idempotency key and then write it to found.md"),
  message("note buy milk and then note buy bread"),
  message("write a draft to old.txt and then delete old.txt"),
  message("write a treasure to keep.txt and then delete keep.txt"),
  message("calculate 1/0 and then note it"),
  message("what is my name?"),
  message("what did we talk about?"),
  message("note this is one too many"),
  { kind: "budget", tokens: 500 },
  message("read notes.md"),
  message("what did we talk about?"),
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
  await Promise.all(SCRIPT.map((sent, place) => send(handle, sent, place)));
  await handle.ask(bye, undefined, { ...PATIENCE, requestId: "script-bye" });
}

/** The answer to the message at this place of the script, also if it was given before, to a process that is gone. */
export function send(
  handle: Handle<AgentResult>,
  sent: Sent,
  place: number,
): Promise<string | number> {
  const options = { ...PATIENCE, requestId: `script-${place}` };
  return sent.kind === "say"
    ? handle.ask(say, sent.text, options)
    : handle.ask(addBudget, sent.tokens, options);
}

async function decideAll(handle: Handle<AgentResult>, decideMs: number): Promise<void> {
  for await (const { completedAt } of handle.watch()) {
    const status = await handle.read(activityOfAgent);
    if (completedAt !== undefined || status?.state !== "waiting for approval") continue;
    const { question, call } = status;
    const allow = "path" in call && isAllowed(call.path);
    await pause(decideMs);
    const options = { ...PATIENCE, requestId: question };
    await handle.ask(decide, { question, allow, by: "Grace" }, options).catch((error: unknown) => {
      const isLate = error instanceof RequestError || isPerdureError(error, "INSTANCE_FINISHED");
      if (!isLate) throw error;
    });
  }
}
