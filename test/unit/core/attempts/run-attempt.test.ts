// One call of user code: whatever the code does, there is a result.

import { expect, test } from "vitest";
import {
  ActivityAttempt,
  DescribedAttempt,
  Attempt,
} from "../../../../src/core/attempts/attempt-context.ts";
import { callActivity, decodeCall } from "../../../../src/core/attempts/call-activity.ts";
import { runAttempt, runAttemptNow } from "../../../../src/core/attempts/run-attempt.ts";
import { asyncContext } from "../../../../src/core/context/async-context.ts";
import { invalidArgument } from "../../../../src/core/checks.ts";
import { activity } from "../../../../src/core/define/definitions.ts";
import { PerdureError } from "../../../../src/core/errors/errors.ts";
import { RetryAfterError } from "../../../../src/core/errors/retry-errors.ts";
import { systemEnvironment } from "../../../../src/core/time/system-environment.ts";
import { defaultCodec as codec, type Codec } from "../../../../src/core/values/codec.ts";

const frame = { kind: "activity", name: "charge", instanceId: "order-7" } as const;

const call = {
  instanceId: "order-7",
  runId: "r1",
  execution: 3,
  orchestration: "order",
  orchestrationVersion: "1.0.0",
  name: "charge",
  sequence: 2,
  priority: 3,
};

const first = { attempt: 1, worker: "w" };

function activityContext(lastHeartbeat: string | null = null) {
  const reported: (string | null)[] = [];
  const reports = {
    heartbeat: (details: string | null) => void reported.push(details),
    progress: (value: string) => void reported.push(`progress ${value}`),
  };
  const host = { environment: systemEnvironment, stopping: new AbortController().signal };
  const services = { log: () => undefined, services: {}, codec, client: undefined as never, host };
  const context = new ActivityAttempt(new DescribedAttempt("activity", call, first), services, {
    context: {},
    lastHeartbeat,
    reports,
    streams: () => {
      throw new Error("This attempt writes to no stream.");
    },
    logged: null,
    later: null,
  });
  return { context, reported };
}

test("a returned value and a resolved promise complete the attempt", async () => {
  const completed = { kind: "completed", output: codec.encode(5) };
  expect(await runAttempt({ frame, fn: () => 5, codec })).toEqual(completed);
  expect(await runAttempt({ frame, fn: async () => 5, codec })).toEqual(completed);
  expect(runAttemptNow({ frame, fn: () => 5, codec })).toEqual(completed);
});

test("user code runs in the frame of its attempt", async () => {
  const fn = (): string => (asyncContext.getStore() === frame ? "inside" : "outside");
  const inside = { output: codec.encode("inside") };
  expect(await runAttempt({ frame, fn, codec })).toMatchObject(inside);
  expect(runAttemptNow({ frame, fn, codec })).toMatchObject(inside);
});

test.each([
  ["an error", new Error("no"), true, null],
  ["a value that is not an error", "no", true, null],
  ["an argument that a schema refused", invalidArgument("no"), false, null],
  ["a value above a limit", new PerdureError("LIMIT_EXCEEDED", "no"), false, null],
  ["an error with a delay", new RetryAfterError("7s", "no"), true, 7_000],
])("%s fails the attempt", async (_title, error, retryable, retryAfterMs) => {
  const fn = (): never => {
    throw error;
  };
  const failed = { kind: "failed", retryAfterMs, failure: { retryable } };
  expect(await runAttempt({ frame, fn, codec })).toMatchObject(failed);
  expect(await runAttempt({ frame, fn: async () => fn(), codec })).toMatchObject(failed);
  expect(runAttemptNow({ frame, fn, codec })).toMatchObject(failed);
});

test("a result that cannot be encoded is not retried, whichever error the codec throws", async () => {
  const fn = (): unknown => () => 1;
  const failed = { kind: "failed", failure: { code: "VALUE_NOT_SERIALIZABLE", retryable: false } };
  expect(await runAttempt({ frame, fn, codec })).toMatchObject(failed);
  const refusing: Codec = {
    ...codec,
    encode: () => {
      throw new Error("no");
    },
  };
  expect(runAttemptNow({ frame, fn, codec: refusing })).toMatchObject({
    kind: "failed",
    failure: { message: "no", retryable: false },
  });
});

test("an input that cannot be read says whether the key is missing", () => {
  const refusing = (error: Error): Codec => ({
    encode: (value) => codec.encode(value),
    decode: () => {
      throw error;
    },
  });
  expect(decodeCall(codec.encode(5), undefined, codec)).toEqual({
    kind: "decoded",
    value: 5,
    context: {},
  });
  const sealed = refusing(new PerdureError("KEY_MISSING", "no key k1"));
  expect(decodeCall("x", undefined, sealed)).toMatchObject({
    kind: "undecodable",
    keyMissing: true,
  });
  const damaged = refusing(new SyntaxError("bad"));
  expect(decodeCall("x", undefined, damaged)).toEqual({
    kind: "undecodable",
    keyMissing: false,
    why: "SyntaxError: bad",
  });
});

test("schemas stand around the function and around an executor's function", async () => {
  const twice = {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) =>
        typeof value === "number" ? { value: value * 2 } : { issues: [{ message: "no number" }] },
    },
  };
  const charge = activity("charge", (n: number) => n + 1, { input: twice, output: twice });
  const { context } = activityContext();
  expect(await callActivity(charge, 1, context, null)).toBe(6);
  expect(await callActivity(charge, 1, context, ({ input }) => input)).toBe(4);
  await expect(callActivity(charge, "x", context, null)).rejects.toThrow(
    'input of activity "charge"',
  );
});

test("a context is bound, and encodes its reports", () => {
  const { context, reported } = activityContext(codec.encode({ row: 7 }));
  const { heartbeat, progress } = context;
  heartbeat();
  heartbeat(5);
  progress("half");
  expect(reported).toEqual([null, codec.encode(5), `progress ${codec.encode("half")}`]);
  expect(context.lastHeartbeat).toEqual({ row: 7 });
  expect(activityContext().context.lastHeartbeat).toBeUndefined();
  expect(() => heartbeat(() => 1)).toThrow(/function/);
});

test("an abort before the first look at the signal is seen then; the first reason stays", () => {
  const context = new Attempt(
    new DescribedAttempt("step", call, first),
    {},
    {
      log: () => undefined,
      services: {},
    },
  );
  const reason = new Error("first");
  context.abort(reason);
  context.abort(new Error("second"));
  expect(context.signal.aborted).toBe(true);
  expect(context.signal.reason).toBe(reason);
});

test("a description names the call, and one key for all its attempts", () => {
  const { attempt, key, info } = new DescribedAttempt("step", call, {
    attempt: 2,
    worker: "worker-1",
  });
  expect([attempt, key]).toEqual([2, "r1:3:2"]);
  expect(info).toEqual({
    instanceId: "order-7",
    executionId: 3,
    orchestration: "order",
    orchestrationVersion: "1.0.0",
    activity: "charge",
    sequence: 2,
    worker: "worker-1",
    priority: 3,
    tags: [],
    session: undefined,
  });
});
