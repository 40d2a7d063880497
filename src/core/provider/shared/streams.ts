// Streams: what an append or a turn writes to a stream, given what is stored.
//   - shared.streams.1: An append must continue the current run of its call. If values of its run are missing
//     before it, or another run has taken over, the append is refused as LEASE_LOST.

import { DONE, LEASE_LOST } from "../results.ts";
import type { AppendItem, AppendResult } from "../streams.ts";

export const STREAM_CLOSED = {
  kind: "refused",
  code: "STREAM_CLOSED",
} as const satisfies AppendResult;

/** The kinds of stored chunks. */
export const CHUNK_KINDS = ["items", "reset"] as const;

/** A stream before a write. A stream without a row has the next offset 0 and is open. */
export interface StoredStream {
  readonly next: number;
  readonly isClosed: boolean;
}

/** What the last run of a call has written to a stream. */
export interface StoredStreamCall {
  readonly run: string;
  /** The offset of the first item of the call. */
  readonly since: number;
  /** The offset of the first item of the run. */
  readonly runSince: number;
  /** The number of values of the run. */
  readonly written: number;
}

/** One row of a stream's entries. */
export interface NewChunk {
  readonly first: number;
  readonly count: number;
  readonly execution: number;
  readonly call: number;
  readonly kind: (typeof CHUNK_KINDS)[number];
  readonly data: string;
}

/** What an append writes. */
export interface AppendWrite {
  readonly kind: "write";
  /** In order. */
  readonly chunks: readonly NewChunk[];
  /** The next offset of the stream. */
  readonly next: number;
  /** The row of the call afterwards. */
  readonly call: StoredStreamCall;
  /** Whether this is the first append of its run. */
  readonly beginsRun: boolean;
}

/** Decides about an append whose task is held. A null call has not written to the stream. */
export function planAppend(
  item: AppendItem,
  { next, isClosed }: StoredStream,
  call: StoredStreamCall | null,
): AppendWrite | AppendResult {
  const { position, run, task } = item;
  const current = call?.run === run ? call : null;
  const written = current?.written ?? 0;
  const until = position + item.values.length;
  if (until <= written) return DONE;
  if (position > written) return LEASE_LOST; // shared.streams.1
  if (isClosed) return STREAM_CLOSED;
  const { execution, sequence } = task;
  const values = position < written ? item.values.slice(written - position) : item.values;
  const from = current === null && call !== null ? call.since : null;
  const first = from === null ? next : next + 1;
  const items = itemsChunk(values, { first, execution, call: sequence });
  return {
    kind: "write",
    chunks: from === null ? [items] : [resetChunk(from, next, execution, sequence), items],
    next: first + values.length,
    call: {
      run,
      since: call?.since ?? first,
      runSince: current?.runSince ?? first,
      written: until,
    },
    beginsRun: current === null,
  };
}

export function itemsChunk(
  values: readonly string[],
  { first, execution, call }: Pick<NewChunk, "first" | "execution" | "call">,
): NewChunk {
  const data = JSON.stringify(values);
  return { first, count: values.length, execution, call, kind: "items", data };
}

function resetChunk(from: number, first: number, execution: number, call: number): NewChunk {
  return { first, count: 1, execution, call, kind: "reset", data: String(from) };
}
