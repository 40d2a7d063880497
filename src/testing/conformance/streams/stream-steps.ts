// Stream steps: what most cases about streams do.

import { expect } from "vitest";
import type {
  AppendItem,
  AppendResult,
  StreamChunk,
  StreamPage,
  StreamRequest,
  TaskClaim,
} from "../../../core/provider/index.ts";
import { claimOf, TASK_LEASE, type Held } from "../fixture.ts";
import type { Setup } from "../setup.ts";

export const TOKENS = "tokens";

/** The text of a value. */
export const v = (value: number | string): string => JSON.stringify(value);

/** An instance with a call that is running under the token of TASK_LEASE. */
export interface WritingCall {
  readonly held: Held;
  readonly task: TaskClaim;
}

/** Holds an instance and schedules an activity that is leased at once. */
export async function writingCall(setup: Setup, id = "a"): Promise<WritingCall> {
  const { held, task } = await setup.holdTask(id, { lease: TASK_LEASE });
  return { held, task: claimOf(task) };
}

export function appendItem(
  task: TaskClaim,
  values: readonly (number | string)[],
  fields: Partial<Omit<AppendItem, "kind" | "task" | "values">> = {},
): AppendItem {
  const item = { name: TOKENS, run: "run-1", position: 0, ...fields };
  return { kind: "append", task, values: values.map(v), ...item };
}

export function append(
  setup: Setup,
  ...item: Parameters<typeof appendItem>
): Promise<AppendResult> {
  return setup.commit(appendItem(...item));
}

/** Appends values, and expects that the store accepts them. */
export async function appended(
  setup: Setup,
  ...item: Parameters<typeof appendItem>
): Promise<void> {
  expect(await append(setup, ...item)).toEqual({ kind: "done" });
}

/** Returns a call to the queue without an outcome, and leases it again under another token. */
export async function leaseAgain(setup: Setup, task: TaskClaim): Promise<TaskClaim> {
  expect(await setup.commit({ kind: "releaseTask", task })).toEqual({ kind: "done" });
  return claimFrom(await setup.leaseOneTask());
}

/** Fails the attempt of a call, and leases the next one. */
export async function nextAttempt(setup: Setup, task: TaskClaim): Promise<TaskClaim> {
  const failure = "{}";
  const item = { kind: "retry", task, delayMs: 0, failure } as const;
  expect(await setup.commit(item)).toEqual({ kind: "done" });
  return claimFrom(await setup.leaseOneTask());
}

export async function page(
  setup: Pick<Setup, "provider">,
  fields: Partial<StreamRequest> = {},
): Promise<StreamPage> {
  const limits = { chunksMax: 100, bytesMax: 1_000_000 };
  const request = { id: "a", name: TOKENS, from: 0, settled: false, ...limits, ...fields };
  const found = await setup.provider.readStream(request);
  expect(found, `the stream of "${request.id}"`).not.toBeNull();
  return found as StreamPage;
}

/** The entries of a page: "offset:call=value", or "offset:call reset from". */
export function entries({ chunks }: Pick<StreamPage, "chunks">): string[] {
  return chunks.flatMap((chunk) =>
    chunk.kind === "reset"
      ? [`${chunk.offset}:${chunk.call} reset ${chunk.from}`]
      : chunk.values.map((value, index) => `${chunk.offset + index}:${chunk.call}=${value}`),
  );
}

/** The entries of a whole stream. */
export async function read(setup: Setup, id = "a", name = TOKENS): Promise<string[]> {
  return entries(await page(setup, { id, name }));
}

/** The states of the items of a stream, as "offset state". */
export async function states(setup: Setup, fields: Partial<StreamRequest> = {}): Promise<string[]> {
  const { chunks } = await page(setup, { ...fields, settled: true });
  return chunks.flatMap((chunk: StreamChunk) =>
    chunk.kind === "reset" ? [] : [`${chunk.offset} ${chunk.state ?? "without a state"}`],
  );
}

function claimFrom({ key, execution, sequence, token }: TaskClaim): TaskClaim {
  return { key, execution, sequence, token };
}
