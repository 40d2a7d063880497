// Repair calls: how a client without the code of an instance hands a repair to a worker that has it.
//   - repair-calls.1: Every runtime runs one orchestration of its own, whose name contains the id of the runtime. A client
//       starts an instance of it at a runtime that registers the code, waits for its result, and deletes it.
//   - The call is one step, so it needs no slot of an activity. A step may run twice; the request id of a rewind and the
//       run id of a fork make it happen once.
//   - The answer is a value also if the repair is refused, so that the error keeps its code.
//   - repair-calls.2: Only the runtime that a call names can take it. If that runtime is gone, another runtime deletes
//       the call: its client may have crashed too.

import type { OrchestrationContext } from "../context/types.ts";
import type { Orchestration } from "../define/definitions.ts";
import type { ErrorCode } from "../errors/errors.ts";

/** A repair for a worker. `options`: those of the call, with a request id or the id of the fork. */
export type RepairCall =
  | { readonly kind: "rewind"; readonly id: string; readonly options: object }
  | {
      readonly kind: "fork";
      readonly id: string;
      readonly options: object;
      /** The run id of the fork, by which a repeated step recognises its own fork. */
      readonly runId: string;
    }
  | { readonly kind: "rewindMany"; readonly ids: readonly string[]; readonly options: object };

/** What became of one instance of a "rewindMany". */
export type RewoundOrRefused =
  /** `others`: the instances that were rewound with it. */
  | { readonly id: string; readonly others: readonly string[]; readonly code?: never }
  | { readonly id: string; readonly code: ErrorCode; readonly message: string };

/** What became of it. The result of a "rewindMany" is a list of `RewoundOrRefused`. */
export type RepairAnswer =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string };

const VERSION = "1.0.0";
/** Only a client that died before it read the answer leaves an instance behind. */
const KEEP_MS = 3_600_000;

/** No orchestration of a user has such a name (ids.ts). */
const PREFIX = "perdure.repair.";

/** The name of the orchestration of this runtime. */
export function repairCodeName(runtimeId: string): string {
  return `${PREFIX}${runtimeId}`;
}

/** The runtime whose repairs have this name; null for every other name. */
export function runtimeOfRepairs(name: string): string | null {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
}

/** The orchestration of a runtime that carries out repairs (repair-calls.1). */
export function repairCode(
  runtimeId: string,
  carryOut: (call: RepairCall) => Promise<RepairAnswer>,
): Orchestration<never, unknown> {
  const handler = async (ctx: OrchestrationContext, call: RepairCall): Promise<unknown> =>
    ctx.step(call.kind, () => carryOut(call));
  return Object.freeze({
    kind: "orchestration",
    name: repairCodeName(runtimeId),
    version: VERSION,
    options: {},
    handler,
    keepMs: { completed: KEEP_MS, failed: KEEP_MS, cancelled: KEEP_MS, terminated: KEEP_MS },
  });
}
