// Checkpoints: what is open after a row of history, stored in that row. A reader of a long execution starts
// at the newest checkpoint instead of the first event (docs/decisions/0032).
//   - checkpoint.1: A checkpoint follows from the events up to the end of its row, so it never becomes wrong.
//        Replay does not use it. A history may have no checkpoints: rows from before checkpoints, copies of
//        a fork and rows that the store writes have none.
//   - checkpoint.2: A row has a checkpoint if it contains an event whose number is a multiple of the
//        interval. The interval is at least EVENTS_MIN events and at least four events per entry of the
//        checkpoint. So checkpoints add a few bytes per event, also while thousands of calls are open.

/** Checkpoints of an execution with few open calls are this many events apart. */
const EVENTS_MIN = 256;
const EVENTS_PER_ENTRY = 4;

export interface Checkpoint {
  /**
   * The sequence numbers of the events that are still needed, in ascending order: those that scheduled the
   * open calls, the last failed attempt of each open step, and the cancel request.
   */
  readonly events: readonly number[];
  /** The names of unread events, each with the number of unread events. */
  readonly unread: readonly (readonly [name: string, count: number])[];
}

/** Whether a row with these events gets a checkpoint (checkpoint.2). */
export function isCheckpointDue(first: number, last: number, entries: number): boolean {
  if (!crosses(first, last, EVENTS_MIN)) return false;
  let interval = EVENTS_MIN;
  while (interval < entries * EVENTS_PER_ENTRY) interval *= 2;
  return crosses(first, last, interval);
}

function crosses(first: number, last: number, interval: number): boolean {
  return Math.floor(last / interval) > Math.floor((first - 1) / interval);
}

/** Whether the value is a checkpoint of a row that ends with event `last`. */
export function isCheckpoint(value: unknown, last: number): value is Checkpoint {
  if (typeof value !== "object" || value === null) return false;
  const { events, unread } = value as { events?: unknown; unread?: unknown };
  if (!Array.isArray(events) || !Array.isArray(unread)) return false;
  let previous = 0;
  for (const sequence of events as readonly unknown[]) {
    if (typeof sequence !== "number" || !Number.isSafeInteger(sequence)) return false;
    if (sequence <= previous || sequence > last) return false;
    previous = sequence;
  }
  return unread.every(isUnread);
}

function isUnread(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, count] = value as readonly unknown[];
  return typeof name === "string" && Number.isSafeInteger(count) && Number(count) > 0;
}
