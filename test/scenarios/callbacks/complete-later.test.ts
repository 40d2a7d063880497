// Activities that complete later: `completeLater`, and the calls from outside that end them.

import { expect } from "vitest";
import type { ActivityError } from "../../../src/index.ts";
import {
  activity,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  type RunOptions,
} from "../../../src/index.ts";
import { codeOf } from "../support/code-of.ts";
import { scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

/** An activity that hands its work over and keeps the token of every attempt. */
function rendering(options: RunOptions = {}) {
  const tokens: string[] = [];
  const render = activity(
    "render",
    (_film: string, { completeLater }): Promise<string> => {
      tokens.push(completeLater().token);
      return Promise.resolve("ignored");
    },
    options,
  );
  const film = orchestration("film", (ctx, title: string) => ctx.run(render, title));
  const token = (index = 0): string => tokens[index] ?? "";
  return { register: [render, film], film, tokens, token };
}

async function startFilm(t: World, film: ReturnType<typeof rendering>["film"], id = "a") {
  const handle = await t.client.start(film, "Metropolis", { id });
  await t.settle();
  return handle;
}

scenario("a call from outside completes the activity; its own value is ignored", () => {
  const { register, film, token } = rendering();
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      expect(t.client.readToken(token())).toEqual({
        kind: "activity",
        name: "render",
        instanceId: "a",
        orchestration: "film",
      });
      const { waitingFor } = await handle.describe();
      expect(waitingFor).toEqual([
        { kind: "activity", sequence: 2, name: "render", attempt: 1, completesLater: true },
      ]);
      expect(await t.client.complete(token(), "rendered")).toBe("completed");
      expect(await t.client.complete(token(), "again")).toBe("completed");
      expect(await t.result(handle)).toBe("rendered");
      expect(await t.client.complete(token(), "after the end")).toBe("completed");
      expect(await codeOf(t.client.fail(token(), new Error("late")))).toBe(
        "no error, but undefined",
      );
    },
  };
});

scenario("a deferred activity survives deploys and crashes without another attempt", () => {
  const { register, film, tokens, token } = rendering({ attempts: 3 });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.deploy();
      await t.crashAndRecover();
      await t.advance("1d");
      expect(tokens).toHaveLength(1);
      await t.client.complete(token(), "rendered");
      expect(await t.result(t.client.get("a"))).toBe("rendered");
      expect(await t.events(handle)).toMatchObject([
        {},
        {},
        { kind: "ActivityCompleted", attempts: 1 },
        {},
      ]);
    },
  };
});

scenario("a deferred activity uses no slot of its worker", () => {
  const { register, film, tokens, token } = rendering();
  return {
    register,
    runtime: { activityConcurrency: 1 },
    run: async (t) => {
      for (const id of ["a", "b", "c"]) await startFilm(t, film, id);
      expect(tokens).toHaveLength(3);
      for (const index of [2, 0, 1]) await t.client.complete(token(index), index);
      const results = await Promise.all(["a", "b", "c"].map((id) => t.result(t.client.get(id))));
      expect(results.toSorted()).toEqual([0, 1, 2]);
    },
  };
});

scenario("the worker dies before the attempt returns: the next attempt gets its own token", (t) => {
  const gate = t.gate<string, void>("render", { attempts: 3 });
  const film = orchestration("film", (ctx) => ctx.run(gate.activity, "x"));
  return {
    register: [gate.activity, film],
    run: async (t) => {
      const handle = await t.client.start(film, undefined, { id: "a" });
      await t.settle();
      const first = gate.visits[0]?.context.completeLater().token ?? "";
      await t.crashAndRecover();
      expect(gate.visits).toHaveLength(2);
      const second = gate.visits[1]?.context.completeLater().token ?? "";
      expect(first).not.toBe(second);
      await gate.finishVisit(1, undefined);
      await t.client.complete(first, "by the first token");
      expect(await t.result(t.client.get(handle.id))).toBe("by the first token");
    },
  };
});

scenario("a call that completes while the attempt still runs aborts the attempt", (t) => {
  const gate = t.gate<string, string>("render");
  const film = orchestration("film", (ctx) => ctx.run(gate.activity, "x"));
  return {
    register: [gate.activity, film],
    run: async (t) => {
      const handle = await t.client.start(film, undefined, { id: "a" });
      await t.settle();
      const token = gate.visits[0]?.context.completeLater().token ?? "";
      await t.client.complete(token, "outside");
      expect(await t.result(handle)).toBe("outside");
      expect(gate.aborts).toMatchObject([{ code: "LEASE_LOST" }]);
      await gate.finishVisit(0, "too late");
      expect(await t.result(handle)).toBe("outside");
    },
  };
});

scenario("the timeout of the attempt goes on, and the retry policy follows it", () => {
  const { register, film, tokens, token } = rendering({
    timeout: "1h",
    retry: { maxAttempts: 2, backoff: { kind: "fixed", base: "1m" } },
  });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      const { waitingFor } = await handle.describe();
      expect(waitingFor).toMatchObject([{ availableAt: new Date(t.now() + 3_600_000) }]);
      await t.advance("59m");
      await t.deploy();
      expect(tokens).toHaveLength(1);
      await t.advance("1m");
      expect((await t.client.get("a").describe()).waitingFor).toMatchObject([
        { attempt: 2, lastError: "timeout: activity timed out" },
      ]);
      await t.advance("1m");
      expect(tokens).toHaveLength(2);
      await t.client.complete(token(0), "by the first token");
      expect(await t.result(t.client.get("a"))).toBe("by the first token");
    },
  };
});

scenario("the last attempt that times out fails the activity, and its token is closed", () => {
  const { register, film, token } = rendering({ timeout: "1h" });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.advance("1h");
      const error = (await t.failure(handle)) as { cause: unknown };
      expect(error.cause).toMatchObject({ name: "ActivityError", kind: "timeout" });
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      expect(await codeOf(t.client.fail(token(), new Error("x")))).toBe("CALLBACK_CLOSED");
      expect(await codeOf(t.client.heartbeat(token()))).toBe("CALLBACK_CLOSED");
    },
  };
});

scenario("heartbeats from outside keep the attempt alive, until its timeout", () => {
  const { register, film, token } = rendering({ timeout: "10m", heartbeatTimeout: "4m" });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      for (let i = 0; i < 3; i++) {
        await t.advance("3m");
        await t.client.heartbeat(token());
      }
      expect((await handle.describe()).waitingFor).toMatchObject([{ completesLater: true }]);
      await t.advance("1m");
      const error = (await t.failure(handle)) as { cause: Error };
      expect(error.cause.message).toContain("timeout: activity timed out");
    },
  };
});

scenario("without heartbeats from outside, the heartbeat timeout ends the attempt", () => {
  const { register, film } = rendering({ timeout: "1h", heartbeatTimeout: "4m" });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.advance("4m");
      const error = (await t.failure(handle)) as { cause: Error };
      expect(error.cause.message).toContain("activity heartbeat timed out");
    },
  };
});

scenario("scheduleToClose ends a deferred activity, and its token is closed", () => {
  const { register, film, token } = rendering({ scheduleToClose: "2h" });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.advance("2h");
      const error = (await t.failure(handle)) as { cause: Error };
      expect(error.cause.message).toContain("scheduleToClose");
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
    },
  };
});

scenario(
  "a failure from outside is a failed attempt: the retry policy follows, repetitions do not",
  () => {
    const { register, film, tokens, token } = rendering({
      retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "1m" } },
    });
    return {
      register,
      run: async (t) => {
        const handle = await startFilm(t, film);
        await t.client.fail(token(), new RangeError("out of film"));
        await t.client.fail(token(), new RangeError("repeated"));
        expect((await handle.describe()).waitingFor).toMatchObject([
          { attempt: 2, lastError: "out of film" },
        ]);
        await t.advance("1m");
        expect(tokens).toHaveLength(2);
        await t.client.fail(token(0), new Error("of the first attempt")); // a repetition
        expect((await handle.describe()).waitingFor).toMatchObject([{ completesLater: true }]);
        await t.client.fail(token(1), new RetryAfterError("5m", "later"));
        await t.advance("4m");
        expect(tokens).toHaveLength(2);
        await t.advance("1m");
        expect(tokens).toHaveLength(3);
        await t.client.fail(token(2), new RangeError("the last one"));
        const error = (await t.failure(handle)) as { cause: ActivityError };
        expect(error.cause).toMatchObject({ attempts: 3, cause: { name: "RangeError" } });
        expect(await codeOf(t.client.fail(token(2), new Error("again")))).toBe(
          "no error, but undefined",
        );
        expect(await codeOf(t.client.complete(token(2), 1))).toBe("CALLBACK_CLOSED");
        expect(await codeOf(t.client.fail(token(1), new Error("x")))).toBe("CALLBACK_CLOSED");
      },
    };
  },
);

scenario("a failure that must not be retried ends the activity", () => {
  const { register, film, token } = rendering({ attempts: 5 });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.client.fail(token(), new NonRetryableError("no such film"));
      const error = (await t.failure(handle)) as { cause: ActivityError };
      expect(error.cause).toMatchObject({ attempts: 1, cause: { message: "no such film" } });
    },
  };
});

scenario("an attempt that throws after completeLater has failed", () => {
  const tokens: string[] = [];
  const render = activity(
    "render",
    (_input: undefined, { completeLater, attempt }) => {
      tokens.push(completeLater().token);
      if (attempt === 1) throw new Error("the farm did not answer");
      return () => "a value that cannot be stored";
    },
    { attempts: 2 },
  );
  const film = orchestration("film", (ctx) => ctx.run(render));
  return {
    register: [render, film],
    run: async (t) => {
      const handle = await t.client.start(film, undefined, { id: "a" });
      await t.advance("10m");
      expect(tokens).toHaveLength(2);
      await t.client.complete(tokens[1] ?? "", "done");
      expect(await t.result(handle)).toBe("done");
    },
  };
});

scenario("a cancelled call is closed", () => {
  const tokens: string[] = [];
  const render = activity("render", (_: undefined, { completeLater }) => {
    tokens.push(completeLater().token);
  });
  const film = orchestration("film", async (ctx) => {
    const task = ctx.run(render);
    await ctx.waitFor("stop");
    task.cancel("not needed");
    await ctx.waitFor("end");
  });
  return {
    register: [render, film],
    run: async (t) => {
      const handle = await t.client.start(film, undefined, { id: "a" });
      await t.settle();
      await handle.raise("stop");
      await t.settle();
      expect(await codeOf(t.client.complete(tokens[0] ?? "", 1))).toBe("CALLBACK_CLOSED");
      await handle.raise("end");
      await t.result(handle);
    },
  };
});

scenario("a restarted instance does not accept the tokens of its earlier activities", () => {
  const { register, film, token } = rendering();
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await handle.terminate();
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await handle.restart();
      await t.settle();
      expect(await codeOf(t.client.complete(token(), 1))).toBe("CALLBACK_CLOSED");
      await t.client.complete(token(1), "second");
      expect(await t.result(handle)).toBe("second");
    },
  };
});

scenario("a worker without the settings hands the task back, and counts no attempt", () => {
  const { register, film, token } = rendering();
  return {
    register,
    differs: { in: "everything", because: "a cold worker may lease the task at another time" },
    run: async (t) => {
      const { callbacks } = t;
      t.callbacks = undefined;
      await t.deploy();
      await startFilm(t, film);
      expect(t.messages.join("\n")).toContain("waits for a worker that was opened with callbacks");
      t.callbacks = callbacks;
      await t.deploy();
      expect((await t.client.get("a").describe()).waitingFor).toMatchObject([
        { attempt: 1, completesLater: true },
      ]);
      await t.client.complete(token(), "now");
      expect(await t.result(t.client.get("a"))).toBe("now");
    },
  };
});

scenario("activities of a session complete later, too", () => {
  const { register, film, token } = rendering({ session: "studio", timeout: "1h", attempts: 2 });
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      await t.advance("2h");
      await t.client.complete(token(1), "second attempt");
      expect(await t.result(handle)).toBe("second attempt");
    },
  };
});

scenario("completeLater has options only for callbacks", () => {
  const { register, film, token } = rendering();
  return {
    register,
    run: async (t) => {
      const handle = await startFilm(t, film);
      const { client } = t;
      expect(await codeOf(client.complete(token(), 1, { headers: {} }))).toBe("INVALID_ARGUMENT");
      expect(await codeOf(client.complete(token(), () => 1))).toBe("VALUE_NOT_SERIALIZABLE");
      await client.complete(token(), undefined);
      expect(await t.result(handle)).toBeUndefined();
    },
  };
});
