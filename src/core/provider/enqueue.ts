// Enqueue: starts of jobs, by key and in bulk. A job is an instance of version JOB_VERSION that runs one activity.
//   - provider.enqueue.1: A key belongs to a name and a kind ("unique", "debounce", "throttle"). The store decides about a
//     keyed start in one transaction; concurrent calls with one key take effect one after the other. A call that inserts an
//     instance is "started"; if the id of its start exists, it is refused. Only keyed starts look at keys: a start, a restart
//     or a fork by id ignores them. A key belongs to the last instance that was inserted under it, also while that
//     instance runs again after a restart. A deletion frees the key.
//   - provider.enqueue.2: "unique": at most one instance of the key is pending or running. While there is one, the result is
//     "existing" (`useExisting`) or a refusal (`fail`). With `replace`, an instance whose activity has not begun (no attempt
//     was leased or failed) ends as "terminated" in the same transaction and starts again with the new start: same id, next
//     execution; the result is "replaced". If its activity has begun, the new start is inserted as the next instance of the
//     key: it is pending, its start becomes due when the first one ends, in the transaction that ends it, whatever ends it.
//     Until then further calls with `replace` replace it in place ("replaced"), a cancel ends it at once, and
//     `useExisting` and `fail` name the first one. An activity whose attempt was released has not begun.
//   - provider.enqueue.3: "debounce": a start is inserted, due after `waitMs`. A call while that instance is pending replaces
//     its start message (input, attributes, priority) and its due time, in place: it becomes due `waitMs` after the call,
//     at the latest `maxMs` after the first call, and never before the call. The run id is that of the last start. The
//     result is "existing" with its id. Once the instance has begun (a runtime has leased it, or it is cancelled), the next
//     call inserts a new one.
//   - provider.enqueue.4: "throttle": a start is inserted, due at once. A call within `perMs` of that insert is "existing",
//     also after that instance has ended or was deleted. `perMs` is that of the call that opened the window. With `trailing`,
//     such a call inserts one more instance, due at the end of the window. That instance then opens the next window, of
//     this call's `perMs`. Until it begins, or its own window is over, further calls with `trailing` replace its start
//     message ("existing"). If the clock goes back by more than a window, the window is over.
//   - provider.enqueue.5: All starts of a bulk item are written, or none. If the first id exists with the same run id, the
//     item was written before. If another id exists, the item is refused and names the first such index.

import type { StartItem, StartResult } from "./commit.ts";

/** Which starts belong together, and what a further start does. */
export type EnqueueKey =
  | {
      readonly kind: "unique";
      readonly key: string;
      readonly onConflict: "useExisting" | "fail" | "replace";
    }
  | {
      readonly kind: "debounce";
      readonly key: string;
      readonly waitMs: number;
      /** Null: no bound. */
      readonly maxMs: number | null;
    }
  | {
      readonly kind: "throttle";
      readonly key: string;
      readonly perMs: number;
      readonly trailing: boolean;
    };
/** A start of a job under a key. The start has `onConflict: "fail"`, no request id, no events, no lease. */
export interface EnqueueItem {
  readonly kind: "enqueue";
  readonly start: StartItem;
  readonly key: EnqueueKey;
}
/** The result of a keyed start. `id`: the instance that runs for this call. */
export type EnqueueResult =
  | (Extract<StartResult, { readonly kind: "started" }> & { readonly id: string })
  | {
      readonly kind: "existing" | "replaced";
      readonly id: string;
      readonly key: number;
      readonly execution: number;
    }
  | { readonly kind: "refused"; readonly code: "INSTANCE_EXISTS"; readonly id: string };

/** Starts of jobs that are written together, or not at all (provider.enqueue.5). At most 1,000. */
export interface EnqueueManyItem {
  readonly kind: "enqueueMany";
  readonly starts: readonly (StartItem | EnqueueItem)[];
}
/** The result of a bulk item. */
export type EnqueueManyResult =
  | {
      readonly kind: "enqueued";
      /** The id of each instance, in order. */
      readonly ids: readonly string[];
    }
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_EXISTS";
      /** The first start that was refused. */
      readonly index: number;
    };
