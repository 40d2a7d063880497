// Bulk routes: one operation on all instances that match a filter.
//   - A bulk operation needs the role of the operation on one instance. Without it, the server changes
//        nothing (S9).

import * as v from "valibot";
import { PAUSED, restarter, RUNNING } from "../../client/bulk/control-many.ts";
import { Removal } from "../../client/bulk/remove-many.ts";
import { rewindable, rewinder } from "../../client/bulk/rewind-many.ts";
import { ENDED, LIVE, type Applicable } from "../../client/bulk/selection.ts";
import type { Handle, Why } from "../../client/handle.ts";
import { checkRewind } from "../../client/repair/rewind.ts";
import { storeOf, toAll, toEach, toPages } from "../views/bulk-work.ts";
import { jsonRoute } from "../http/route.ts";
import { bulkAnswer, which, whichEntries } from "../schemas/bulk.ts";
import { given } from "../schemas/common.ts";
import { pruneEntries, pruneOptions } from "./instances.ts";
import { whyBody, whyOf } from "./lifecycle.ts";
import { restartEntries, restartOptions, rewindEntries, rewindOptions } from "./repairs.ts";

const withReason = v.strictObject({ ...whichEntries, ...whyBody.entries });

function row(action: string) {
  return {
    method: "POST",
    path: `/bulk/${action}`,
    operation: `bulk${action.charAt(0).toUpperCase()}${action.slice(1)}`,
    summary: `Applies "${action}" to every instance that matches the filter; \`dryRun\` returns what would be refused.`,
    tag: "bulk",
    answer: bulkAnswer,
    patient: true,
  } as const;
}

/** A route for an operation that records a reason. */
function whyRoute(
  action: string,
  done: string,
  applicable: Applicable,
  act: (handle: Handle, why: Why) => Promise<void>,
) {
  return jsonRoute({
    ...row(action),
    role: "operator",
    body: withReason,
    run: (call) => {
      const why = whyOf(call, `${done} by request`);
      return toEach(call, call.body, applicable, (handle) => act(handle, why));
    },
  });
}

export const bulkRoutes = [
  whyRoute("cancel", "cancelled", LIVE, (handle, why) => handle.cancel(why)),
  whyRoute("terminate", "terminated", LIVE, (handle, why) => handle.terminate(why)),
  whyRoute("pause", "paused", RUNNING, (handle, why) => handle.pause(why)),
  jsonRoute({
    ...row("resume"),
    role: "operator",
    body: which,
    run: (call) => toEach(call, call.body, PAUSED, (handle) => handle.resume()),
  }),
  jsonRoute({
    ...row("unblock"),
    role: "operator",
    body: which,
    run: (call) =>
      toEach(call, call.body, { ...LIVE, blocked: true }, (handle) => handle.unblock()),
  }),
  jsonRoute({
    ...row("restart"),
    role: "operator",
    body: v.strictObject({ ...whichEntries, ...restartEntries }),
    run: (call) => {
      const options = restartOptions(call);
      return toPages(call, call.body, ENDED, restarter(storeOf(call), options));
    },
  }),
  jsonRoute({
    ...row("rewind"),
    role: "operator",
    body: v.strictObject({ ...whichEntries, ...rewindEntries }),
    errors: ["NOT_REGISTERED"],
    run: (call) => {
      const options = rewindOptions(call);
      checkRewind(options, "a bulk rewind");
      return toPages(call, call.body, rewindable, rewinder(storeOf(call), options));
    },
  }),
  jsonRoute({
    ...row("raise"),
    role: "operator",
    body: v.strictObject({ ...whichEntries, name: v.string(), data: v.exactOptional(given) }),
    run: (call) => {
      const { binding, body } = call;
      return toEach(call, body, LIVE, (handle) => handle.raise(body.name, body.data, binding));
    },
  }),
  jsonRoute({
    ...row("delete"),
    role: "admin",
    body: which,
    run: (call) => toAll(call, call.body, ENDED, Removal.deletes(storeOf(call))),
  }),
  jsonRoute({
    ...row("prune"),
    role: "admin",
    body: v.strictObject({ ...whichEntries, ...pruneEntries }),
    run: (call) => {
      const options = pruneOptions(call.body);
      return toAll(call, call.body, {}, Removal.prunes(storeOf(call), options));
    },
  }),
];
