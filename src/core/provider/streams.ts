// Streams: values that an instance shows to readers while it runs. They are not part of its history.
//   - provider.streams.1: A stream belongs to an instance and has a name. Its entries are items and resets. Offsets
//     are dense from 0, in the order of the commits, and never reused. A stream lives as long as its instance.
//   - provider.streams.2: An append of an activity names the claim of its task, and is refused unless the task is
//     held under that token (I2). It also names the run of the call, and how many values that run wrote to the stream
//     before. Values that are already there are not written again (I14). It is also refused if values of its run
//     before it are missing, or another run of the call has written since.
//   - provider.streams.3: If an earlier run of the call wrote to the stream, the first append of a run writes a
//     reset before its values. The reset has a separate offset. `from` is the offset of the first item that the
//     call wrote to the stream.
//   - provider.streams.4: The transaction that records a successful outcome (`TaskClaim.streamValues`) settles the
//     items of the call's last run. The items of the orchestration (call 0) are settled when they are written.
//   - provider.streams.5: A closed stream accepts no append. A turn never writes to a stream that it closed before.
//     A restart of the instance opens its streams again. Closing a stream twice changes nothing.
//   - provider.streams.6: A stream is over if it is closed or its instance has ended.
//   - provider.streams.7: A store that lost its last commits may have lost values that it had acknowledged, and still
//     have the lease of their attempt. A completion, a turn or a deferral whose claim names more values
//     (`TaskClaim.streamValues`) than the streams got under its token is refused as LEASE_LOST. Trimmed values
//     count. Values that the same group appends may be ignored.

import type { MaybeDamaged } from "../values/checksum.ts";
import type { TaskClaim } from "./tasks.ts";

/** What a turn writes to one of its streams. */
export interface StreamWrite {
  readonly name: string;
  /** Codec texts. */
  readonly values: readonly string[];
  /** Closes the stream after the values. */
  readonly closes?: true;
}

/** Appends values of an activity to a stream of its instance. */
export interface AppendItem {
  readonly kind: "append";
  readonly task: TaskClaim;
  readonly name: string;
  /** Identifies the run of the call. Every time the code of the activity is entered, another one is generated. */
  readonly run: string;
  /** How many values this run wrote to the stream before. */
  readonly position: number;
  /** Codec texts; at least one. */
  readonly values: readonly string[];
}
/** The result of an append. */
export type AppendResult =
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly code: "LEASE_LOST" | "STREAM_CLOSED" };

/**
 * Deletes the entries of a stream before an offset. An offset beyond the end means the end. Trimming entries
 * that were deleted before changes nothing.
 */
export interface TrimItem {
  readonly kind: "trim";
  readonly id: string;
  readonly name: string;
  readonly before: number;
}

/** A stream of an instance. */
export interface StreamRecord {
  readonly name: string;
  /** The offset of the first entry that is not trimmed. */
  readonly first: number;
  /** The offset that the next entry gets. */
  readonly next: number;
  readonly isClosed: boolean;
  readonly updatedAt: number;
}

/** Which entries of a stream to read. */
export interface StreamRequest {
  readonly id: string;
  readonly name: string;
  readonly from: number;
  /** The maximum number of chunks. */
  readonly chunksMax: number;
  /** After about this many bytes no further chunk is read. The first chunk is always read. */
  readonly bytesMax: number;
  /** Whether to read the state of the calls (StreamItems.state). It costs further lookups. */
  readonly settled: boolean;
}

/**
 * "settled": written by a successful run of its call, or by the orchestration. "open": the call has no outcome
 * yet, so the items may still be settled or reset. "void": reset, or the call failed or was cancelled.
 */
export type StreamItemsState = "settled" | "open" | "void";

/** Items of one call that were written together. */
export interface StreamItems extends MaybeDamaged {
  readonly kind: "items";
  /** The offset of the first value. The others follow. */
  readonly offset: number;
  /** The sequence number of the activity call; 0: the orchestration. */
  readonly call: number;
  readonly execution: number;
  /** Codec texts. Empty if the chunk is damaged. */
  readonly values: readonly string[];
  /** How many values the chunk has. */
  readonly count: number;
  /** Only if the request asks for it. */
  readonly state?: StreamItemsState;
}
/** The items of that call at or after `from` are void: another run of the call writes again. */
export interface StreamReset {
  readonly kind: "reset";
  readonly offset: number;
  readonly call: number;
  readonly from: number;
}
/** One entry or several, as they were written. */
export type StreamChunk = StreamItems | StreamReset;

/** A part of a stream. A stream without entries has the first and next offset 0. */
export interface StreamPage {
  /** The store's number of the instance. */
  readonly key: number;
  readonly first: number;
  readonly next: number;
  /** No entry follows at or after `next` (provider.streams.6). */
  readonly isOver: boolean;
  /**
   * In order, without gaps, from the chunk with the offset `from` or, if that is trimmed, `first`. The first chunk
   * may begin before `from` or `first`.
   */
  readonly chunks: readonly StreamChunk[];
}

/** The part of a provider that reads streams. */
export interface StreamStore {
  /** Null: the instance does not exist. */
  readStream(request: StreamRequest): Promise<StreamPage | null>;
  /** All streams of an instance, ordered by name. Null: the instance does not exist. */
  listStreams(id: string): Promise<readonly StreamRecord[] | null>;
}
