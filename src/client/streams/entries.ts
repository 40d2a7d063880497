// What a reader of a stream receives.

/** A value of a stream. */
export interface StreamItem<T = unknown> {
  readonly kind: "item";
  readonly offset: number;
  /** The sequence number of the activity call that wrote it; 0: the orchestration. */
  readonly call: number;
  readonly value: T;
}
/** The call writes again: its items at or after `from` are void. Those of other calls are not. */
export interface StreamResetEntry {
  readonly kind: "reset";
  readonly offset: number;
  readonly call: number;
  readonly from: number;
}
/** The stream is closed, or its instance has ended. It is the last entry. */
export interface StreamEnd {
  readonly kind: "end";
}
/** One entry of a stream, as a reader receives it. */
export type StreamEntry<T = unknown> = StreamItem<T> | StreamResetEntry | StreamEnd;

/** A stream of an instance. */
export interface StreamInfo {
  readonly name: string;
  /** The offset of the first entry that is not trimmed. */
  readonly first: number;
  /** The offset of the next entry. */
  readonly next: number;
  readonly isClosed: boolean;
  readonly updatedAt: Date;
}
