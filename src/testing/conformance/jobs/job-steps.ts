// What most cases of keyed starts do: enqueue under a key, run a job as far as a case needs it.

import { expect } from "vitest";
import type {
  EnqueueItem,
  EnqueueKey,
  EnqueueResult,
  Message,
  StartItem,
  TaskAddress,
} from "../../../core/provider/index.ts";
import {
  ALPHA,
  eventText,
  fresh,
  heldFrom,
  newTask,
  scheduledText,
  startedText,
  startItem,
  VERSION,
  type Held,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

export function enqueueItem(
  id: string,
  key: EnqueueKey,
  fields: Partial<StartItem> & { readonly input?: string } = {},
): EnqueueItem {
  const { input = "null", ...rest } = fields;
  const runId = `run-${fresh()}`;
  const start = startItem({ id, runId, started: startedText({ runId, input }), ...rest });
  return { kind: "enqueue", start, key };
}

export function unique(
  onConflict: Extract<EnqueueKey, { kind: "unique" }>["onConflict"] = "useExisting",
  key = "k",
): EnqueueKey {
  return { kind: "unique", key, onConflict };
}

/** Enqueues one start, and expects a result of this kind. */
export async function enqueue(
  setup: Setup,
  item: EnqueueItem,
  kind: EnqueueResult["kind"],
): Promise<EnqueueResult> {
  const result = await setup.commit(item);
  expect(result, `the result of "${item.start.id}"`).toMatchObject({ kind });
  return result;
}

/** The start message of an instance, and its input. */
export async function startOf(
  setup: Setup,
  id: string,
): Promise<{ readonly message: Message; readonly input: unknown }> {
  const { key } = await setup.read(id);
  const messages = await setup.provider.readInbox(key);
  const message = messages.find(({ kind }) => kind === "start");
  expect(message, `the start message of "${id}"`).toBeDefined();
  expect(message?.damaged).toBeUndefined();
  const { input, runId }: { input: unknown; runId: unknown } = JSON.parse(message?.data ?? "{}");
  expect(runId).toBe((await setup.read(id)).runId);
  return { message: message as Message, input };
}

/** Leases the instance, which must be the only one that is due, and commits the turn that schedules its activity. */
export async function begin(
  setup: Setup,
  id: string,
  fields: { readonly lease?: { readonly owner: string; readonly token: number } } = {},
): Promise<{ readonly held: Held; readonly task: TaskAddress }> {
  const leased = await setup.leaseOnly(id, ALPHA);
  const held = heldFrom(leased);
  const start = leased.messages.find(({ kind }) => kind === "start");
  const { lease = null } = fields;
  await setup.turn(held, {
    version: VERSION,
    events: [start?.data ?? eventText(), scheduledText()],
    consumed: start === undefined ? [] : [start.id],
    tasks: [newTask({ sequence: 2, lease })],
  });
  return { held, task: { key: held.key, execution: held.execution, sequence: 2 } };
}

/** Like `begin`, and a worker holds the task. */
export async function run(setup: Setup, id: string): Promise<Held> {
  const { held } = await begin(setup, id, { lease: { owner: ALPHA, token: fresh() } });
  return held;
}
