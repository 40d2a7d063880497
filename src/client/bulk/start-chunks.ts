// Writes many starts in chunks, each completely or not at all (provider.enqueue.5).
//   - All starts are checked before anything is written. The error of a bad one names its index.
//   - With a request id, the ids are derived from it, so a repeated call goes on where the first one stopped.
//   - Neighbouring instances have neighbouring ids: a store inserts those faster.
//   - While the store writes a chunk, the next one is made, SLICE starts per macrotask. Chunks with generated ids also
//     overlap in the store. Otherwise a chunk is sent after the previous one was accepted, so that nothing after a
//     refused start is written.

import { hash } from "node:crypto";
import { invalidArgument } from "../../core/checks.ts";
import type { ContextInput } from "../../core/context/app-types.ts";
import { checkContext } from "../../core/context/start-context.ts";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { parseRequestId, showValue } from "../../core/ids/ids.ts";
import type { StartItem } from "../../core/provider/commit.ts";
import type { EnqueueItem, EnqueueManyResult } from "../../core/provider/enqueue.ts";
import { exists } from "../jobs/enqueue.ts";
import type { Store } from "../store.ts";

const CHUNK = 1_000;
const SLICE = 100;
/** How many chunks may be in flight: one on the server while the next is sent and another one is written to disk. */
const SENT_MAX = 2;

interface Chunk {
  /** The index of its first item. */
  readonly first: number;
  readonly starts: readonly (StartItem | EnqueueItem)[];
}
interface SentChunk extends Chunk {
  readonly result: Promise<EnqueueManyResult>;
}

/** The ids of one start. */
export interface StartIds {
  readonly id: string;
  readonly runId: string;
}
/** Makes the start of a checked item. It cannot fail. */
export type MakeStart<Item> = (item: Item, index: number) => StartItem | EnqueueItem;

/**
 * Returns the ids of the instances, in order. `mayOverlap`: no chunk can be refused, so the store may get a chunk before
 * it has answered the previous one.
 */
export async function writeChunks<Item>(
  { committer, provider }: Store,
  checked: readonly Item[],
  make: MakeStart<Item>,
  { mayOverlap }: { readonly mayOverlap: boolean },
): Promise<readonly string[]> {
  const macrotask = (): Promise<void> =>
    new Promise((resolve) => provider.environment.immediate(resolve));
  const chunkAt = async (first: number): Promise<Chunk> => {
    const starts: (StartItem | EnqueueItem)[] = [];
    for (const [index, item] of checked.slice(first, first + CHUNK).entries()) {
      if (first + index > 0 && index % SLICE === 0) await macrotask();
      starts.push(make(item, first + index));
    }
    return { first, starts };
  };
  const ids: string[] = [];
  const sent: SentChunk[] = [];
  const takeOldest = async (): Promise<void> => {
    const [oldest] = sent;
    if (oldest === undefined) return;
    for (const id of idsOf(await oldest.result, oldest)) ids.push(id);
    sent.shift();
  };
  try {
    for (let first = 0; first < checked.length; first += CHUNK) {
      const chunk = await chunkAt(first);
      while (sent.length >= (mayOverlap ? SENT_MAX : 1)) await takeOldest();
      const item = { kind: "enqueueMany", starts: chunk.starts } as const;
      const result = committer.enqueue(item, { isIndependent: mayOverlap });
      result.catch(() => undefined); // takeOldest reports it
      sent.push({ ...chunk, result });
    }
    while (sent.length > 0) await takeOldest();
  } finally {
    await Promise.allSettled(sent.map(({ result }) => result)); // nothing is written after the call has failed
  }
  return ids;
}

function idsOf(result: EnqueueManyResult, { first, starts }: Chunk): readonly string[] {
  if (result.kind !== "refused") return result.ids;
  const { index, code } = result;
  const refused = starts[index];
  throw ofItem(exists(code, refused === undefined ? "" : idOf(refused)), first + index);
}

/** Writes the starts in the user's transaction. */
export async function writeWithin<Item>(
  store: Store,
  checked: readonly Item[],
  make: MakeStart<Item>,
  { tx, what }: { readonly tx: object; readonly what: string },
): Promise<readonly string[]> {
  if (checked.length > CHUNK) {
    const rule = `${what} with tx must be given at most ${CHUNK} items`;
    throw invalidArgument(`${rule}; got ${checked.length}.`);
  }
  const starts = checked.map((item, index) => {
    const start = make(item, index);
    if (start.kind === "start") return start;
    throw ofItem(invalidArgument(`${start.key.kind} must not be given together with tx.`), index);
  });
  for (const [index, start] of starts.entries()) {
    const result = await store.startWithin(tx, start);
    if (result.kind === "refused") throw ofItem(exists("INSTANCE_EXISTS", start.id), index);
  }
  return starts.map(idOf);
}

export function listOf(given: unknown, what: string): Iterable<unknown> {
  if (isIterable(given)) return given;
  throw invalidArgument(
    `${what} must be given a list or another iterable; got ${showValue(given)}.`,
  );
}

function isIterable(given: unknown): given is Iterable<unknown> {
  return typeof given === "object" && given !== null && Symbol.iterator in given;
}

/** The members of the context of an item replace those of all items. */
export function contextOf(
  common: ContextInput | undefined,
  own: ContextInput | undefined,
  what: string,
): ContextInput | undefined {
  if (common === undefined || own === undefined) return own ?? common;
  return { ...checkContext(common, what), ...checkContext(own, what) } as ContextInput; // of both
}

/** The ids of the starts by index. `kinds`: what they are ids of, so that jobs and instances get different ones. */
export function bulkIds(
  { provider }: Store,
  kinds: readonly [id: string, runId: string],
  name: string,
  requestId: string | undefined,
): (index: number) => StartIds {
  const { environment } = provider;
  const prefixOf = (kind: string): string =>
    requestId === undefined
      ? environment.randomHex(12)
      : hash("sha256", JSON.stringify([kind, name, parseRequestId(requestId)]), "hex").slice(0, 24);
  const [id, runId] = kinds.map(prefixOf);
  return (index) => {
    const number = index.toString(16).padStart(8, "0");
    return { id: `${id}${number}`, runId: `${runId}${number}` };
  };
}

/** Adds the index of the item to the message. */
export function ofItem(error: unknown, index: number): unknown {
  if (!isPerdureError(error)) return error;
  return new PerdureError(error.code, `Item ${index}: ${error.message}`, { cause: error });
}

function idOf(start: StartItem | EnqueueItem): string {
  return start.kind === "start" ? start.id : start.start.id;
}
