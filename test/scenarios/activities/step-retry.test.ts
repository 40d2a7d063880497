// Steps: failures, timeouts and process deaths (semantics 17).

import { expect } from "vitest";
import {
  isPerdureError,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  StepError,
  type StepContext,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("a step is retried after its backoff, and history records each failed attempt", (t) => {
  const begun = t.now();
  const entered: number[] = [];
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "flaky",
      ({ attempt }) => {
        entered.push(t.now() - begun);
        if (attempt === 2) throw new RetryAfterError("10s");
        if (attempt < 4) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
      { retry: { maxAttempts: 5, backoff: { kind: "linear", base: "1s" } } },
    ),
  );
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect((await handle.describe()).waitingFor).toEqual([
        {
          kind: "step",
          sequence: 2,
          name: "flaky",
          attempt: 3,
          lastError: "retry after 10s",
          availableAt: new Date(begun + 11_000),
        },
      ]);
      await t.advance("1m");
      expect(entered).toEqual([0, 1_000, 11_000, 14_000]);
      expect(await t.result(handle)).toBe(4);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "StepScheduled flaky",
        "StepAttemptFailed 2",
        "StepAttemptFailed 2",
        "StepAttemptFailed 2",
        "StepCompleted 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("a step without attempts left, or with a NonRetryableError, fails with StepError", () => {
  const main = orchestration("main", async (ctx) => {
    const messages: string[] = [];
    const note = (error: unknown): void => {
      if (error instanceof StepError)
        messages.push(`${error.step} ${error.message} ${error.attempts}`);
    };
    const retry = { maxAttempts: 2, backoff: { kind: "none" } } as const;
    await ctx.step("plain", () => Promise.reject(new Error("no"))).catch(note);
    await ctx.step("twice", () => Promise.reject(new Error("no")), { retry }).catch(note);
    const hopeless = (): never => {
      throw new NonRetryableError("hopeless");
    };
    await ctx.step("final", hopeless, { retry }).catch(note);
    return messages;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(["plain no 1", "twice no 2", "final hopeless 1"]);
    },
  };
});

scenario("a step over its timeout is aborted and retried; its late value is dropped", (t) => {
  const signals: AbortSignal[] = [];
  let late: ((value: number) => void) | undefined;
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "slow",
      ({ signal, attempt }) => {
        signals.push(signal);
        return attempt === 1 ? new Promise<number>((resolve) => (late = resolve)) : attempt;
      },
      { timeout: "2s", attempts: 2 },
    ),
  );
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("2s");
      expect(isPerdureError(signals[0]?.reason, "TIMEOUT")).toBe(true);
      late?.(1);
      await t.advance("100ms");
      expect(await t.result(handle)).toBe(2);
    },
  };
});

scenario("after a process death the step runs again with the same idempotency key", (t) => {
  const keys: string[] = [];
  let finish: ((value: string) => void) | undefined;
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.step("first", () => "kept");
    const second = await ctx.step("second", ({ idempotencyKey }: StepContext) => {
      keys.push(idempotencyKey);
      return new Promise<string>((resolve) => (finish = resolve));
    });
    return [first, second];
  });
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.crashAndRecover();
      expect(keys).toHaveLength(2);
      expect(keys[0]).toBe(keys[1]);
      finish?.("again");
      expect(await t.result(t.client.get(main, handle.id))).toEqual(["kept", "again"]);
    },
  };
});

scenario("the pending retry of a step survives a restart", () => {
  let fails = true;
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "later",
      ({ attempt }) => {
        if (fails) throw new Error("not yet");
        return attempt;
      },
      { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "1h" } } },
    ),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("30m");
      await t.deploy();
      fails = false;
      await t.advance("29m");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("1m");
      expect(await t.result(handle)).toBe(2);
    },
  };
});
