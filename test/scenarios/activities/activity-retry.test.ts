// Retries of activities: number of attempts, delays, and what history records (semantics 10).

import { expect } from "vitest";
import {
  activity,
  ActivityError,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  type Activity,
  type Attempts,
} from "../../../src/index.ts";
import { scenario, type Scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

/** An activity that throws the given failures, one per attempt, then returns. `entered` has the times of its attempts. */
function flaky(t: World, failures: readonly unknown[]) {
  const begun = t.now();
  const entered: number[] = [];
  const work = activity("work", (_input: unknown, { attempt }) => {
    entered.push(t.now() - begun);
    if (attempt <= failures.length) throw failures[attempt - 1];
    return `attempt ${attempt}`;
  });
  return { work, entered };
}

function calling(work: Activity<unknown, string>, attempts: Attempts) {
  return orchestration("main", async (ctx) => {
    try {
      return await ctx.run(work, null, attempts);
    } catch (error) {
      if (error instanceof ActivityError) return `${error.message} (${error.attempts})`;
      throw error;
    }
  });
}

const failures = (count: number): Error[] =>
  Array.from({ length: count }, (_, i) => new Error(`failure ${i + 1}`));

/** A scenario of one call with this retry policy and these failures. It checks the times of the attempts and the result. */
function timed(
  attempts: Attempts,
  wrong: readonly unknown[],
  expected: { readonly entered: readonly number[]; readonly result: string },
): (t: World) => Scenario {
  return (t) => {
    const { work, entered } = flaky(t, wrong);
    const main = calling(work, attempts);
    return {
      register: [work, main],
      run: async () => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.advance("5m");
        expect(entered).toEqual(expected.entered);
        expect(await t.result(handle)).toBe(expected.result);
        expect(await t.story(handle)).toHaveLength(4); // attempts add no events
      },
    };
  };
}

scenario(
  "without a policy there is one attempt",
  timed({}, failures(1), { entered: [0], result: "failure 1 (1)" }),
);
scenario(
  "no attempt follows a successful one",
  timed({ attempts: 5 }, [], { entered: [0], result: "attempt 1" }),
);
scenario(
  "attempts as a number sets the maximum; delays start at 100 ms and double",
  timed({ attempts: 5 }, failures(3), { entered: [0, 100, 300, 700], result: "attempt 4" }),
);
scenario(
  "a call that uses up its attempts fails with the last failure",
  timed({ attempts: 3 }, failures(9), { entered: [0, 100, 300], result: "failure 3 (3)" }),
);
scenario(
  "without backoff the next attempt starts at once",
  timed({ retry: { maxAttempts: 3, backoff: { kind: "none" } } }, failures(2), {
    entered: [0, 0, 0],
    result: "attempt 3",
  }),
);
scenario(
  "a fixed backoff uses the same delay every time",
  timed({ retry: { maxAttempts: 4, backoff: { kind: "fixed", base: "10s" } } }, failures(3), {
    entered: [0, 10_000, 20_000, 30_000],
    result: "attempt 4",
  }),
);
scenario(
  "a linear backoff grows by its base up to its maximum",
  timed(
    { retry: { maxAttempts: 5, backoff: { kind: "linear", base: "1s", max: "2500ms" } } },
    failures(4),
    {
      entered: [0, 1_000, 3_000, 5_500, 8_000],
      result: "attempt 5",
    },
  ),
);
scenario(
  "an exponential backoff uses its factor and maximum",
  timed(
    {
      retry: {
        maxAttempts: 5,
        backoff: { kind: "exponential", base: "1s", factor: 3, max: "10s" },
      },
    },
    failures(4),
    { entered: [0, 1_000, 4_000, 13_000, 23_000], result: "attempt 5" },
  ),
);
scenario(
  "RetryAfterError delays the next attempt and leaves the policy unchanged",
  timed({ attempts: 4 }, [new RetryAfterError("1m"), new Error("failure 2")], {
    entered: [0, 60_000, 60_200],
    result: "attempt 3",
  }),
);
scenario(
  "RetryAfterError does not add an attempt to the policy",
  timed({}, [new RetryAfterError("1s", "later")], { entered: [0], result: "later (1)" }),
);
scenario(
  "NonRetryableError ends the call at once",
  timed({ attempts: 5 }, [new Error("failure 1"), new NonRetryableError("hopeless")], {
    entered: [0, 100],
    result: "hopeless (2)",
  }),
);
scenario(
  "an error named in nonRetryable ends the call at once",
  timed({ retry: { maxAttempts: 5, nonRetryable: ["RangeError"] } }, [new RangeError("too big")], {
    entered: [0],
    result: "too big (1)",
  }),
);
scenario(
  "a policy of sixty attempts makes sixty attempts",
  timed({ retry: { maxAttempts: 60, backoff: { kind: "fixed", base: "1s" } } }, failures(59), {
    entered: Array.from({ length: 60 }, (_, i) => i * 1_000),
    result: "attempt 60",
  }),
);

scenario("the attempt count continues after a restart", (t) => {
  const { work, entered } = flaky(t, failures(3));
  const main = calling(work, { retry: { maxAttempts: 4, backoff: { kind: "fixed", base: "1m" } } });
  return {
    register: [work, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("90s");
      expect((await handle.describe()).waitingFor).toMatchObject([
        { kind: "activity", attempt: 3, lastError: "failure 2" },
      ]);
      await t.stop();
      await t.advance("10m"); // no process runs when the next attempt becomes due
      await t.boot();
      await t.advance("60s");
      expect(entered).toEqual([0, 60_000, 690_000, 750_000]);
      expect(await t.result(handle)).toBe("attempt 4");
    },
  };
});

scenario("a call cancelled between two attempts is not retried", (t) => {
  const { work, entered } = flaky(t, failures(9));
  const main = orchestration("main", async (ctx) => {
    const task = ctx.run(work, null, { attempts: 9 });
    await ctx.sleep("150ms");
    task.cancel("enough");
    return task.catch((error: unknown) => String(error));
  });
  return {
    register: [work, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("5m");
      expect(entered).toEqual([0, 100]);
      expect(await t.result(handle)).toBe("CancelledError: cancelled: enough");
    },
  };
});

scenario("a pending retry of the previous execution does not reach the next execution", (t) => {
  const entered: string[] = [];
  const work = activity("work", (execution: number, { attempt }) => {
    entered.push(`${execution}.${attempt}`);
    if (execution === 1 || attempt === 1) throw new Error("again");
    return execution;
  });
  const main = orchestration("main", async (ctx, round: number): Promise<number> => {
    const task = ctx.run(work, ctx.info.executionId, { attempts: 5 });
    if (round === 2) return task;
    await ctx.sleep("150ms");
    return ctx.continueAsNew(2);
  });
  return {
    register: [work, main],
    run: async () => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.advance("5m");
      expect(entered).toEqual(["1.1", "1.2", "2.1", "2.2"]);
      expect(await t.result(handle)).toBe(2);
    },
  };
});

scenario("many instances retry concurrently, each with a separate attempt count", (t) => {
  const tried = new Map<string, number>();
  const work = activity("work", (_: unknown, { attempt, info }) => {
    tried.set(info.instanceId, attempt);
    if (attempt <= Number(info.instanceId) % 4) throw new Error("again");
    return attempt;
  });
  const main = orchestration("main", (ctx) => ctx.run(work, null, { attempts: 4 }));
  return {
    register: [work, main],
    run: async () => {
      const ids = Array.from({ length: 40 }, (_, i) => String(i));
      const handles = await Promise.all(ids.map((id) => t.client.start(main, undefined, { id })));
      await t.advance("1s");
      for (const handle of handles) {
        expect(await t.result(handle)).toBe((Number(handle.id) % 4) + 1);
        expect(tried.get(handle.id)).toBe((Number(handle.id) % 4) + 1);
      }
    },
  };
});

scenario("an orchestration can retry in a loop, and history records every call", (t) => {
  const { work } = flaky(t, [new Error("always at the first attempt")]);
  let round = 0;
  const third = activity("third", () => {
    if (++round % 3 !== 0) throw new Error(`round ${round}`);
    return round;
  });
  const main = orchestration("main", async (ctx) => {
    for (let i = 0; ; i++) {
      try {
        return await ctx.run(third);
      } catch (error) {
        if (i === 5) throw error;
        await ctx.sleep("1s");
      }
    }
  });
  return {
    register: [work, third, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      expect(await t.result(handle)).toBe(3);
      expect((await t.story(handle)).filter((e) => e === "ActivityScheduled third")).toHaveLength(
        3,
      );
    },
  };
});
