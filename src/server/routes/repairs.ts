// Routes that repair instances: rewind, restart, fork.
//   - repairs.1: `by` is the name of the authenticated caller. A request can name a person, for whom the caller acts:
//        "anna via ops". So no caller can hide behind another name.

import * as v from "valibot";
import type { RestartOptions } from "../../client/repair/restart.ts";
import type { RewindOptions } from "../../client/repair/rewind.ts";
import type { RewindPoint } from "../../core/repair/cut.ts";
import type { Replacement } from "../../core/repair/replace.ts";
import { defined } from "../../core/values/defined.ts";
import { emptyRoute, jsonRoute, type CallBase } from "../http/route.ts";
import { given } from "../schemas/common.ts";
import { started } from "../schemas/instance.ts";
import { rewindReport } from "../schemas/repair.ts";
import { rewindToHttp } from "../wire/repair.ts";
import { row, whyBody } from "./lifecycle.ts";

const NAME_CHARS_MAX = 256;

const nth = v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1)));
const eventNumber = v.pipe(v.number(), v.integer(), v.minValue(2));
const point = v.union([
  eventNumber,
  v.strictObject({ activity: v.string(), nth }),
  v.strictObject({ step: v.string(), nth }),
  v.strictObject({ child: v.string(), nth }),
]);
const replace = v.pipe(
  v.array(v.strictObject({ sequence: eventNumber, output: v.exactOptional(given) })),
  v.maxLength(1_000),
);
export const whyEntries = {
  ...whyBody.entries,
  by: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(NAME_CHARS_MAX))),
};

/** The members of a rewind of one instance or of many. */
export const rewindEntries = {
  /** Either `to` or `before`. */
  to: v.exactOptional(v.literal("failure")),
  before: v.exactOptional(point),
  tree: v.exactOptional(v.boolean()),
  ...whyEntries,
};
export const restartEntries = {
  ...whyEntries,
  input: v.exactOptional(given),
  version: v.exactOptional(v.string()),
};

type Why = v.InferOutput<v.ObjectSchema<typeof whyEntries, undefined>>;
interface RepairCall<Body> extends CallBase {
  readonly body: Why & Body;
}

/** repairs.1 */
export function whyOf({ caller, body: { reason, by } }: RepairCall<unknown>) {
  const isOther = by !== undefined && by !== caller.name;
  return { by: isOther ? `${by} via ${caller.name}` : caller.name, ...defined({ reason }) };
}

/** The options of a rewind without `replace`. The client checks that `to` or `before` is given. */
export function rewindOptions(
  call: RepairCall<v.InferOutput<v.ObjectSchema<typeof rewindEntries, undefined>>>,
): RewindOptions {
  const { to, before, tree } = call.body;
  const { requestId } = call.binding;
  const where = defined({ to, before }) as RewindPoint; // checked by checkRewind
  return { ...where, ...defined({ tree, requestId }), ...whyOf(call) };
}

export function restartOptions(
  call: RepairCall<v.InferOutput<v.ObjectSchema<typeof restartEntries, undefined>>>,
): RestartOptions {
  const { body } = call;
  const { requestId } = call.binding;
  return {
    ...whyOf(call),
    ...defined({ version: body.version, requestId }),
    ...("input" in body ? { input: body.input } : {}),
  };
}

/** An absent output is undefined: the call returned nothing. */
function replacements(list: v.InferOutput<typeof replace>): readonly Replacement[] {
  return list.map(({ sequence, output }) => ({ sequence, output }));
}

export const repairRoutes = [
  jsonRoute({
    ...row(
      "rewind",
      "Goes on at the failed call, or before a call or an event, as the next execution: completed work is kept, and what is done again has the same idempotency key. `dryRun` returns the preview.",
    ),
    body: v.strictObject({
      ...rewindEntries,
      replace: v.exactOptional(replace),
      dryRun: v.exactOptional(v.boolean()),
    }),
    answer: rewindReport,
    patient: true,
    errors: [
      "INSTANCE_NOT_FOUND",
      "INSTANCE_RUNNING",
      "PARENT_INFORMED",
      "NONDETERMINISM",
      "NOT_REGISTERED",
    ],
    run: async (call) => {
      const { params, body, services } = call;
      const report = await services.client.get(params.id).rewind({
        ...rewindOptions(call),
        ...defined({ dryRun: body.dryRun }),
        ...(body.replace === undefined ? {} : { replace: replacements(body.replace) }),
      });
      return rewindToHttp(report);
    },
  }),
  emptyRoute({
    ...row(
      "restart",
      "Runs an ended instance again from the start, as a new execution with new idempotency keys: completed work is repeated.",
    ),
    body: v.strictObject(restartEntries),
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_RUNNING", "NOT_REGISTERED"],
    run: (call) => call.services.client.get(call.params.id).restart(restartOptions(call)),
  }),
  jsonRoute({
    ...row("fork", "Starts a new instance with a copy of this one's history up to an event."),
    body: v.strictObject({
      /** Either `before` or `beforeSequence`. */
      before: v.exactOptional(point),
      beforeSequence: v.exactOptional(eventNumber),
      execution: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      id: v.exactOptional(v.string()),
      version: v.exactOptional(v.string()),
      input: v.exactOptional(given),
      replace: v.exactOptional(replace),
      ...whyEntries,
    }),
    answer: started,
    status: 201,
    patient: true,
    errors: ["INSTANCE_NOT_FOUND", "INSTANCE_EXISTS", "NONDETERMINISM", "NOT_REGISTERED"],
    run: async (call) => {
      const { params, body, binding, services } = call;
      const { reason: _reason, by: _by, replace: list, ...options } = body;
      const fork = await services.client.fork(params.id, {
        ...options,
        ...whyOf(call),
        ...(list === undefined ? {} : { replace: replacements(list) }),
        ...binding,
      });
      return { id: fork.id };
    },
  }),
];
