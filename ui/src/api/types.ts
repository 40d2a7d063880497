// Types of the server's answers, derived from the server's schemas. Only types are imported, so the bundle
// contains no schema code.

import type * as v from "valibot";
import type { bulkAnswer } from "../../../src/server/schemas/bulk.ts";
import type { Role } from "../../../src/server/security/roles.ts";
import type { ending } from "../../../src/server/schemas/failure.ts";
import type {
  historyEvent,
  historyPage,
  mark,
  span,
  timeline,
} from "../../../src/server/schemas/history.ts";
import type {
  block,
  completedWork,
  execution,
  instance,
  requestAnswer,
  statistics,
  summary,
  waiting,
} from "../../../src/server/schemas/instance.ts";
import type {
  metrics,
  overview,
  queue,
  runtime,
  sample,
  troubles,
  unclaimed,
} from "../../../src/server/schemas/store.ts";
import type { streamInfo, streamItem, streamReset } from "../../../src/server/schemas/streams.ts";

export type { CauseShape, FailureShape, TreeShape } from "../../../src/server/schemas/shapes.ts";
export type { Role };

/** The input type of the attributes schema is unknown. The server's answers contain strings by name. */
type WithAttributes<Shape> = Omit<Shape, "attributes"> & {
  readonly attributes: Readonly<Record<string, string>>;
};

export type Instance = WithAttributes<v.InferInput<typeof instance>>;
export type InstanceSummary = WithAttributes<v.InferInput<typeof summary>>;
export interface InstancePage {
  readonly items: readonly InstanceSummary[];
  readonly cursor?: string;
}
export type Status = InstanceSummary["status"];
export type Waiting = v.InferInput<typeof waiting>;
export type Block = v.InferInput<typeof block>;
export type Sketch = NonNullable<Block["recorded"]>;
export type Ending = v.InferInput<typeof ending>;
export type Execution = v.InferInput<typeof execution>;
export type CompletedWork = v.InferInput<typeof completedWork>;
export type RequestAnswer = v.InferInput<typeof requestAnswer>;
export type Statistics = v.InferInput<typeof statistics>;

export type HistoryEvent = v.InferInput<typeof historyEvent>;
export type HistoryPage = v.InferInput<typeof historyPage>;
export type Timeline = v.InferInput<typeof timeline>;
export type Span = v.InferInput<typeof span>;
export type Mark = v.InferInput<typeof mark>;

export type StreamInfo = v.InferInput<typeof streamInfo>;
export type StreamItem = v.InferInput<typeof streamItem>;
export type StreamReset = v.InferInput<typeof streamReset>;
export type StreamEntry =
  | (StreamItem & {
      readonly kind: "item";
      /** The length of its JSON. */
      readonly chars: number;
    })
  | (StreamReset & { readonly kind: "reset" })
  | { readonly kind: "end" };

export type Overview = v.InferInput<typeof overview>;
export type Metrics = v.InferInput<typeof metrics>;
export type Queue = v.InferInput<typeof queue>;
export type Runtime = v.InferInput<typeof runtime>;
export type Sample = v.InferInput<typeof sample>;
export type TroubleGroup = v.InferInput<typeof troubles>["groups"][number];
export type Unclaimed = v.InferInput<typeof unclaimed>;

export type BulkAnswer = v.InferInput<typeof bulkAnswer>;
export interface Session {
  readonly name: string;
  readonly role: Role;
  readonly readOnly: boolean;
}
export interface UnreadPage {
  readonly items: readonly UnreadEvent[];
  readonly cursor?: string;
}
export interface UnreadEvent {
  readonly name: string;
  readonly data?: unknown;
  /** Why the schema of a wait refused the event. */
  readonly refused?: { readonly code: string; readonly message: string; readonly path?: string };
  /** Set for a request that has no answer yet. `data` is its input. */
  readonly requestId?: string;
  /** Set for a value of the callback of that name. */
  readonly callback?: true;
}
export interface KeyValue {
  readonly key: string;
  readonly value?: unknown;
}
