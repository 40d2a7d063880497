// The route that sends a request to an instance and waits for the instance's answer.
//   - The request id is `requestId` of the body. Without it, the id is derived from the Idempotency-Key. The store
//        keeps the answer under this id, so a repeated request gets the same answer from every server process.
//   - The wait takes a stream slot and at most `waitMs`, as the other waits do (waiting.ts).

import * as v from "valibot";
import { defined } from "../../core/values/defined.ts";
import { jsonRoute } from "../http/route.ts";
import { given, whole } from "../schemas/common.ts";
import { requestAnswer } from "../schemas/instance.ts";
import { toHttp } from "../views/values.ts";
import { member } from "../wire/instance.ts";
import { waiting } from "./waiting.ts";

/** How long a request waits for its answer if it sets no `timeoutMs`. */
const TIMEOUT_MS = 30_000;

export const requestRoutes = [
  jsonRoute({
    method: "POST",
    path: "/instances/:id/requests/:name",
    operation: "askInstance",
    summary:
      "Sends a request and waits for its answer up to `timeoutMs` (default 30,000; 0: does not wait). Without an answer in time: a problem TIMEOUT whose `reason` says why; the request stays sent. With a `requestId` or an Idempotency-Key, a repeated call sends the request once and gets its answer.",
    tag: "instances",
    role: "operator",
    params: v.object({ id: v.string(), name: v.string() }),
    body: v.strictObject({
      input: v.exactOptional(given),
      timeoutMs: v.exactOptional(whole),
      requestId: v.exactOptional(v.string()),
    }),
    answer: requestAnswer,
    errors: [
      "INSTANCE_NOT_FOUND",
      "INSTANCE_FINISHED",
      "REQUEST_REFUSED",
      "KEY_REUSED",
      "LIMIT_EXCEEDED",
      "TIMEOUT",
      "STREAMS_EXHAUSTED",
    ],
    patient: true,
    repeats: "store",
    run: async (call) => {
      const { params, body, binding, services } = call;
      const { waitMs } = services.settings.limits;
      const { input, timeoutMs: timeout = Math.min(TIMEOUT_MS, waitMs) } = body;
      const requestId = body.requestId ?? binding.requestId;
      const handle = services.client.get(params.id);
      const answer = await waiting(call, { timeout }, (wait) =>
        handle.ask(params.name, input, { ...wait, ...defined({ requestId }) }),
      );
      return member("answer", toHttp(answer));
    },
  }),
];
