// Bulk: one operation on all instances that a filter finds.
//   BR1. The role is that of the single operation: whoever may not do it to one may not do it to any, and then
//        nothing at all is done (S9).

import * as v from "valibot";
import { TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import { toAll, toEach, type Open } from "../bulk-work.ts";
import { answers } from "../route.ts";
import { bulkAnswer, which, whichEntries } from "../schemas/bulk.ts";
import { given } from "../schemas/common.ts";
import { pruneEntries, pruneOptions } from "./instances.ts";
import { whyBody, whyOf } from "./lifecycle.ts";

const LIVE: Open = { status: ["pending", "running", "paused"] };
const ENDED: Open = { status: [...TERMINAL_STATUSES] };

const withReason = v.strictObject({ ...whichEntries, ...whyBody.entries });

function row(action: string) {
  return {
    method: "POST",
    path: `/bulk/${action}`,
    operation: `bulk${action.charAt(0).toUpperCase()}${action.slice(1)}`,
    summary: `As ${action}, for every instance that the filter finds; \`dryRun\` only counts them.`,
    tag: "bulk",
    answer: bulkAnswer,
    patient: true,
  } as const;
}

export const bulkRoutes = [
  answers({
    ...row("cancel"),
    role: "operator",
    body: withReason,
    run: (call) => {
      const why = whyOf(call, "cancelled by request");
      return toEach(call, call.body, LIVE, (handle) => handle.cancel(why));
    },
  }),
  answers({
    ...row("terminate"),
    role: "operator",
    body: withReason,
    run: (call) => {
      const why = whyOf(call, "terminated by request");
      return toEach(call, call.body, LIVE, (handle) => handle.terminate(why));
    },
  }),
  answers({
    ...row("pause"),
    role: "operator",
    body: withReason,
    run: (call) => {
      const why = whyOf(call, "paused by request");
      const open: Open = { status: ["pending", "running"] };
      return toEach(call, call.body, open, (handle) => handle.pause(why));
    },
  }),
  answers({
    ...row("resume"),
    role: "operator",
    body: which,
    run: (call) => toEach(call, call.body, { status: ["paused"] }, (handle) => handle.resume()),
  }),
  answers({
    ...row("unblock"),
    role: "operator",
    body: which,
    run: (call) =>
      toEach(call, call.body, { ...LIVE, blocked: true }, (handle) => handle.unblock()),
  }),
  answers({
    ...row("restart"),
    role: "operator",
    body: which,
    run: (call) => {
      const { requestId } = call.binding;
      const options = requestId === undefined ? {} : { requestId };
      return toEach(call, call.body, ENDED, (handle) => handle.restart(options));
    },
  }),
  answers({
    ...row("raise"),
    role: "operator",
    body: v.strictObject({ ...whichEntries, name: v.string(), data: v.exactOptional(given) }),
    run: (call) => {
      const { binding, body } = call;
      return toEach(call, body, LIVE, (handle) => handle.raise(body.name, body.data, binding));
    },
  }),
  answers({
    ...row("delete"),
    role: "admin",
    body: which,
    run: (call) =>
      toAll(call, call.body, ENDED, (filter, limit) =>
        call.services.client.deleteMany(filter, { limit }),
      ),
  }),
  answers({
    ...row("prune"),
    role: "admin",
    body: v.strictObject({ ...whichEntries, ...pruneEntries }),
    run: (call) => {
      const options = pruneOptions(call.body);
      return toAll(call, call.body, {}, (filter, limit) =>
        call.services.client.pruneMany(filter, { ...options, limit }),
      );
    },
  }),
];
