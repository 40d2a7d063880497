// Types of the server's answers, derived from the server's schemas. Only types are imported, so the bundle
// contains no schema code.

import type * as v from "valibot";
import type {
  entityName,
  entityPage,
  limiter,
  schedule,
} from "../../../src/server/schemas/built-ins.ts";
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
import type { repair, rewindReport } from "../../../src/server/schemas/repair.ts";
import type { queue, queueDetail } from "../../../src/server/schemas/queues.ts";
import type {
  metrics,
  overview,
  runtime,
  sample,
  troubles,
  unclaimed,
} from "../../../src/server/schemas/store.ts";
import type { streamInfo, streamItem, streamReset } from "../../../src/server/schemas/streams.ts";

import type { AttributeShape } from "../../../src/server/wire/attributes.ts";

export type { AttributeShape };
export type { CauseShape, FailureShape, TreeShape } from "../../../src/server/schemas/shapes.ts";
export type { Role };

/** A date is `{ date }`. */
export type Attributes = Readonly<Record<string, AttributeShape>>;
/** The input type of the attributes schema is unknown. */
type WithAttributes<Shape> = Omit<Shape, "attributes"> & { readonly attributes: Attributes };

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
export type Repair = v.InferInput<typeof repair>;
export type RewindReport = v.InferInput<typeof rewindReport>;
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
export type QueueDetail = v.InferInput<typeof queueDetail>;
type OfInstance<Shape> = Omit<Shape, "instance"> & { readonly instance: InstanceSummary };
export type Schedule = Omit<v.InferInput<typeof schedule>, "instance"> & {
  readonly instance?: InstanceSummary;
};
export type LimiterKey = OfInstance<v.InferInput<typeof limiter>["keys"][number]>;
export type Limiter = Omit<v.InferInput<typeof limiter>, "keys"> & {
  readonly keys: readonly LimiterKey[];
};
export type EntityName = v.InferInput<typeof entityName>;
export interface EntityPage {
  readonly items: readonly OfInstance<v.InferInput<typeof entityPage>["items"][number]>[];
  readonly cursor?: string;
}
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
