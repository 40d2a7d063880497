// Routes for calls from outside, for callers with credentials. Values have the typed form of the API.
//   - The token is in the body, so that no address, log line or audit line contains it.
//   - The store recognizes a repeated call by its token, so these routes need no Idempotency-Key.
//   - `/callbacks` of the server receives the same calls without credentials (src/callback).

import * as v from "valibot";
import { failureOf } from "../../callback/failure.ts";
import { defined } from "../../core/values/defined.ts";
import type { Client } from "../../client/client.ts";
import { emptyRoute, jsonRoute, type Call } from "../http/route.ts";
import { callbackAnswer } from "../schemas/callback.ts";
import { given } from "../schemas/common.ts";

const tag = "callbacks";
const errors = ["TOKEN_INVALID", "CALLBACK_CLOSED", "NOT_CONFIGURED"] as const;

export const callbackRoutes = [
  jsonRoute({
    method: "POST",
    path: "/callbacks/complete",
    operation: "completeCallback",
    summary:
      "Completes a callback, or an activity that completes later, by its token. A repeated call changes nothing. `accepted`: the receiver checks the value.",
    tag,
    role: "operator",
    body: v.strictObject({
      token: v.string(),
      value: v.exactOptional(given),
      headers: v.exactOptional(v.record(v.string(), v.string())),
    }),
    answer: callbackAnswer,
    errors: [...errors, "LIMIT_EXCEEDED"],
    repeats: "store",
    run: async (call) => {
      const { token, value, headers } = call.body;
      return { status: await noted(call).complete(token, value, defined({ headers })) };
    },
  }),
  emptyRoute({
    method: "POST",
    path: "/callbacks/fail",
    operation: "failCallback",
    summary:
      "Reports that an attempt of an activity that completes later has failed. Its retry policy decides what follows; `retry: false` ends it.",
    tag,
    role: "operator",
    body: v.strictObject({
      token: v.string(),
      error: v.exactOptional(
        v.strictObject({
          message: v.exactOptional(v.string()),
          name: v.exactOptional(v.string()),
          retry: v.exactOptional(v.boolean()),
          retryAfterMs: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0))),
        }),
      ),
    }),
    errors: [...errors],
    repeats: "store",
    run: ({ services: { client }, body: { token, error } }) => client.fail(token, failureOf(error)),
  }),
  emptyRoute({
    method: "POST",
    path: "/callbacks/heartbeat",
    operation: "heartbeatCallback",
    summary: "Reports that the work of an activity that completes later goes on.",
    tag,
    role: "operator",
    body: v.strictObject({ token: v.string() }),
    errors: [...errors],
    repeats: "store",
    run: (call) => noted(call).heartbeat(call.body.token),
  }),
];

/** Adds the instance to the audit entry. Throws TOKEN_INVALID. */
function noted(call: Call<undefined, undefined, { readonly token: string }>): Client {
  const { client } = call.services;
  call.note({ instance: client.readToken(call.body.token).instanceId });
  return client;
}
