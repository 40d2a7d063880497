// Telemetry of received callbacks: one span with a link to the instance's trace, and a counter of outcomes.

import { SpanKind } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { callbacks, webhook } from "../../../src/callback/index.ts";
import { orchestration, Perdure } from "../../../src/index.ts";
import { collecting } from "./support.ts";

const waits = orchestration("waits", async (ctx) => {
  const answer = ctx.callback("answer");
  ctx.kv.set("token", answer.token);
  return await answer;
});

test("a received call has one span with its outcome, linked to the trace of its instance, and is counted", async () => {
  const { telemetry, spans, metrics } = collecting();
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [waits],
    runtime: { telemetry, log: () => undefined },
    callbacks: { secrets: ["a-secret-of-at-least-32-bytes-for-tests"], baseUrl: "http://host" },
  });
  const hook = webhook("hook", {
    verify: ({ headers }) => headers.has("x-signed"),
    start: waits,
    id: () => "h",
  });
  const app = callbacks(perdure.client, { webhooks: [hook], log: () => undefined });
  const post = (path: string, init: RequestInit = {}) =>
    app.request(path, { method: "POST", ...init });
  const handle = await perdure.client.start(waits, undefined, { id: "w" });
  const token = await handle.kv.waitFor<string>("token");
  expect((await post(`/${token}`)).status).toBe(200);
  await handle.result();
  expect((await post("/v1.x.y")).status).toBe(404);
  expect((await post("/webhook/hook")).status).toBe(401);
  expect((await post("/webhook/hook", { headers: { "x-signed": "1" } })).status).toBe(200);

  const start = spans().find(({ name }) => name === "start waits");
  const received = spans().filter(({ name }) => /^(?:callback|webhook) /.test(name));
  expect(received.map(({ name, attributes }) => [name, attributes["perdure.outcome"]])).toEqual([
    ["callback answer", "completed"],
    ["webhook hook", "signature_invalid"],
    ["webhook hook", "started"],
  ]);
  expect(received[0]).toMatchObject({
    kind: SpanKind.CONSUMER,
    attributes: { "perdure.callback": "answer", "perdure.instance": "w" },
  });
  expect(received[0]?.links.map(({ context }) => context.traceId)).toEqual([
    start?.spanContext().traceId,
  ]);
  expect(received[1]?.links).toEqual([]);
  const counted = Object.keys(await metrics()).filter((name) => name.includes("perdure.callbacks"));
  expect(counted).toHaveLength(4);
});
