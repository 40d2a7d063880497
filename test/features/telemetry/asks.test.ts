// Telemetry of requests: one span and one measurement from the request to its answer.

import { SpanKind, SpanStatusCode, trace, context } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { orchestration, Perdure, request, type Telemetry } from "../../../src/index.ts";
import { collecting } from "./support.ts";

const say = request<string, string>("say");

const server = orchestration("server", async (ctx) => {
  void ctx.serve(request<undefined>("fail"), async () => {
    throw new TypeError("not that");
  });
  for await (const call of ctx.requests(say)) {
    if (call.input === "no") call.refuse("not now");
    else if (call.input === "end") return;
    else call.answer(call.input);
  }
});

async function opened(telemetry: Telemetry): Promise<Perdure> {
  const perdure = await Perdure.open("sqlite::memory:", {
    register: [server],
    runtime: { telemetry, log: () => undefined },
  });
  await perdure.client.start(server, undefined, { id: "s" });
  return perdure;
}

test("an ask has one span, a child of the caller's span, with its outcome", async () => {
  const { telemetry, tracer, spans } = collecting();
  await using perdure = await opened(telemetry);
  const handle = perdure.client.get("s");
  const caller = tracer.startSpan("caller");
  await context.with(trace.setSpan(context.active(), caller), () => handle.ask(say, "a"));
  await perdure.client.ask(server, "s", say, "no").catch(() => undefined);
  await handle.ask("fail").catch(() => undefined);
  await handle.pause();
  await handle.ask(say, "b", { timeout: 1 }).catch(() => undefined);
  await handle.resume();
  await handle.ask(say, "end").catch(() => undefined);
  const asks = spans().filter(({ name }) => name.startsWith("ask "));
  expect(asks.map(({ name, attributes }) => [name, attributes["perdure.outcome"]])).toEqual([
    ["ask say", "answered"],
    ["ask say", "refused"],
    ["ask fail", "failed"],
    ["ask say", "timedOut"],
    ["ask say", "error"],
  ]);
  expect(asks[0]).toMatchObject({
    kind: SpanKind.CLIENT,
    attributes: { "perdure.request": "say", "perdure.instance": "s" },
    parentSpanContext: { spanId: caller.spanContext().spanId },
  });
  expect(asks[1]?.status).toMatchObject({ code: SpanStatusCode.ERROR, message: "not now" });
});

test("the duration of asks is measured by request and outcome", async () => {
  const { telemetry, metrics } = collecting();
  await using perdure = await opened(telemetry);
  const handle = perdure.client.get("s");
  for (const text of ["a", "b"]) await handle.ask(say, text);
  await handle.ask(say, "no").catch(() => undefined);
  const points = Object.entries(await metrics()).filter(([name]) =>
    name.startsWith("perdure.asks{"),
  );
  expect(points.map(([name]) => name).toSorted()).toEqual([
    expect.stringContaining("answered") as string,
    expect.stringContaining("refused") as string,
  ]);
});

test("an observer without asks, or one that throws, does not change an ask", async () => {
  const { telemetry } = collecting();
  const { ask: _ask, askOver: _over, ...old } = telemetry;
  const broken: Telemetry = {
    ...old,
    ask: () => {
      throw new Error("broken");
    },
    askOver: () => {
      throw new Error("broken");
    },
  };
  for (const observer of [old, broken]) {
    await using perdure = await opened(observer);
    expect(await perdure.client.get("s").ask(say, "a")).toBe("a");
    await expect(perdure.client.get("s").ask(say, "no")).rejects.toThrow("not now");
  }
});
