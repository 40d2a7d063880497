// Failures in flows: siblings, collected failures, catches, compensations and error details (semantics 25).

import { expect } from "vitest";
import { activity, event, OrchestrationError } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";

function fail(message: string): never {
  throw new TypeError(message);
}

scenario("a failure names its node, its activity, its attempts and its cause (T37)", () => {
  const broken = activity("broken", () => fail("no ink"));
  const print = flow("print")
    .fork({
      page: (f) => f.then("draw", broken, { retry: { maxAttempts: 2, backoff: { base: 1 } } }),
    })
    .build();
  return {
    register: [print],
    run: async (t) => {
      const handle = await t.client.start(print, undefined, { id: "i" });
      await t.advance("1s");
      const error = await t.failure(handle);
      expect(error).toBeInstanceOf(OrchestrationError);
      expect(error).toMatchObject({
        kind: "failed",
        message: "no ink",
        cause: {
          code: "ACTIVITY_FAILED",
          activity: "broken",
          attempts: 2,
          node: "fork.page/draw",
          cause: { name: "TypeError", message: "no ink" },
        },
      });
      expect((error as { cause: { cause: unknown } }).cause.cause).toBeInstanceOf(TypeError);
      expect(await handle.node("fork.page/draw").describe()).toMatchObject({
        status: "failed",
        attempts: 2,
        name: "broken",
      });
      await expect(handle.node("fork.page/draw").result()).rejects.toMatchObject({
        code: "ACTIVITY_FAILED",
        node: "fork.page/draw",
      });
    },
  };
});

scenario("the first failure of a fork durably cancels its siblings and fails the flow", (t) => {
  const gate = t.gate<string, string>("gate");
  const forked = flow<string>("forked")
    .fork({
      a: (f) => f.then("left", gate.activity),
      b: (f) => f.delay("d", "1h").then("never", (s) => s),
      c: (f) => f.then("boom", (): string => fail("boom")),
      d: (f) => f.waitFor(event<string>("never")),
    })
    .then("after", () => "not reached")
    .build();
  return {
    register: [forked],
    run: async () => {
      const handle = await t.client.start(forked, "x", { id: "i" });
      expect(await t.failure(handle)).toMatchObject({
        message: "boom",
        cause: { node: "fork.c/boom" },
      });
      expect(gate.aborts).toMatchObject([{ code: "CANCELLED", reason: "a sibling failed" }]);
      const story = await t.story(handle);
      expect(story.slice(-5)).toEqual([
        "ActivityFailed 4",
        "ActivityCancelRequested 2",
        "TimerCancelled 3",
        "EventSubscriptionCancelled 5",
        "OrchestrationFailed failed",
      ]);
      expect((await handle.node("fork.a/left").describe())?.status).toBe("cancelled");
      await expect(handle.node("fork.a/left").result()).rejects.toMatchObject({
        code: "CANCELLED",
      });
      await expect(handle.node("after").result()).rejects.toMatchObject({
        code: "INSTANCE_FINISHED",
      });
    },
  };
});

scenario("a fork with onError: settle waits for all branches and returns each outcome", (t) => {
  const gate = t.gate<number, number>("gate");
  const forked = flow<number>("forked")
    .fork(
      {
        a: (f) => f.then("a", gate.activity),
        b: (f) => f.then("b", (): number => fail("b is broken")),
      },
      { onError: "settle" },
    )
    .build();
  return {
    register: [forked],
    run: async () => {
      const handle = await t.client.start(forked, 1, { id: "i" });
      await t.settle();
      expect((await handle.describe()).status).toBe("running");
      await gate.finish(1, 10);
      expect(await t.result(handle)).toEqual({
        a: { ok: true, value: 10 },
        b: {
          ok: false,
          node: "fork.b/b",
          failure: expect.objectContaining({
            name: "TypeError",
            message: "b is broken",
          }) as unknown,
        },
      });
    },
  };
});

scenario("a map fails with its first failing item, or settles and returns all outcomes", () => {
  const strict = flow<number[]>("strict")
    .map(
      "m",
      (list) => list,
      (f) => f.then("x", (n) => (n === 3 ? fail("three") : n)),
      { concurrency: 2 },
    )
    .build();
  const lenient = flow<number[]>("lenient")
    .map(
      "m",
      (list) => list,
      (f) => f.then("x", (n) => (n === 3 ? fail("three") : n)),
      {
        concurrency: 2,
        onError: "settle",
      },
    )
    .then("report", (all) => all.map((each) => (each.ok ? each.value : each.failure.message)))
    .build();
  return {
    register: [strict, lenient],
    run: async (t) => {
      const one = await t.client.start(strict, [1, 2, 3, 4, 5], { id: "strict" });
      expect(await t.failure(one)).toMatchObject({ message: "three", cause: { node: "m#2/x" } });
      const two = await t.client.start(lenient, [1, 2, 3, 4, 5], { id: "lenient" });
      expect(await t.result(two)).toEqual([1, 2, "three", 4, 5]);
    },
  };
});

scenario("a catch handles failures of the preceding nodes of its level, not of later nodes", () => {
  const caught = flow<number>("caught")
    .then("first", (n) => (n === 1 ? fail("first") : n))
    .fork({ a: (f) => f.then("second", (n) => (n === 2 ? fail("second") : n)), b: (f) => f })
    .then("sum", ({ a, b }) => a + b)
    .catch((f) =>
      f.then(
        "handle",
        ({ failure, input, node }) => -(failure.message.length + input + node.length),
      ),
    )
    .then("after", (n) => (n === 6 ? fail("after") : n))
    .build();
  return {
    register: [caught],
    run: async (t) => {
      const at = async (n: number) => t.client.start(caught, n, { id: `i${n}` });
      expect(await t.result(await at(1))).toBe(-("first".length + 1 + "first".length));
      expect(await t.result(await at(2))).toBe(-("second".length + 2 + "fork.a/second".length));
      expect(await t.failure(await at(3))).toMatchObject({
        message: "after",
        cause: { node: "after" },
      });
      expect(await t.result(await at(4))).toBe(8);
    },
  };
});

scenario("an inner catch handles a failure first, and its failure goes to the outer catch", () => {
  const nested = flow<string>("nested")
    .fork({
      x: (f) =>
        f
          .then("inner", (s): string => fail(s))
          .catch("inner catch", (g) =>
            g.then("again", ({ failure }) =>
              failure.message === "twice" ? fail("again") : `inner ${failure.message}`,
            ),
          ),
    })
    .then("x", ({ x }) => x)
    .catch("outer catch", (f) => f.then("last", ({ failure }) => `outer ${failure.message}`))
    .build();
  return {
    register: [nested],
    run: async (t) => {
      const once = await t.client.start(nested, "once", { id: "once" });
      expect(await t.result(once)).toBe("inner once");
      const twice = await t.client.start(nested, "twice", { id: "twice" });
      expect(await t.result(twice)).toBe("outer again");
    },
  };
});

/** Steps and compensations that record their names in the log. */
function trip(log: string[]) {
  const act = (name: string) => (): string => {
    log.push(name);
    return name.endsWith("!") ? fail(`${name} failed`) : name;
  };
  return { act, undo: (name: string) => act(`undo ${name}`) };
}

scenario("a failure runs compensations in reverse order with each step's input and output", () => {
  const log: string[] = [];
  const { act, undo } = trip(log);
  const seen: unknown[] = [];
  const journey = flow<string>("journey")
    .then("flight", act("flight"))
    .compensate((done) => {
      seen.push(done);
      return undo("flight")();
    })
    .fork({
      hotel: (f) => f.then("hotel", act("hotel")).compensate(undo("hotel")),
      car: (f) => f.delay("later", "1s").then("car", act("car!")).compensate(undo("car")),
    })
    .build();
  return {
    register: [journey],
    run: async (t) => {
      const handle = await t.client.start(journey, "ada", { id: "i" });
      await t.advance("1m");
      expect(await t.failure(handle)).toMatchObject({ kind: "failed", message: "car! failed" });
      // Each function runs once in every mode, also in shadow mode.
      expect(log.splice(0)).toEqual(["flight", "hotel", "car!", "undo hotel", "undo flight"]);
      expect(seen.splice(0)).toEqual([{ input: "ada", output: "flight" }]);
      expect(await handle.node("flight.defer").result()).toBe("undo flight");
    },
  };
});

scenario("a success runs no compensation, and a cancel runs the compensations", () => {
  const log: string[] = [];
  const { act, undo } = trip(log);
  const journey = flow<number>("journey")
    .then("flight", act("flight"))
    .compensate(undo("flight"))
    .delay("wait", 60_000)
    .build();
  return {
    register: [journey],
    run: async (t) => {
      const good = await t.client.start(journey, 1, { id: "good" });
      await t.advance("2m");
      expect(await t.result(good)).toBe("flight");
      expect(log.splice(0)).toEqual(["flight"]);
      const bad = await t.client.start(journey, 1, { id: "bad" });
      await t.advance("10s");
      await bad.cancel({ reason: "no time", by: "ada" });
      expect(await t.failure(bad)).toMatchObject({ kind: "cancelled" });
      expect(log.splice(0)).toEqual(["flight", "undo flight"]);
      expect((await bad.describe()).cancelled).toMatchObject({ reason: "no time", by: "ada" });
    },
  };
});

scenario("a catch runs the compensations of its nodes before its branch, and no others", () => {
  const log: string[] = [];
  const { act, undo } = trip(log);
  const journey = flow("journey")
    .then("visa", act("visa"))
    .compensate(undo("visa"))
    .fork({
      there: (f) =>
        f
          .then("flight", act("flight"))
          .compensate(undo("flight"))
          .then("hotel", act("hotel!"))
          .catch((g) => g.then("train", act("train")).compensate(undo("train"))),
    })
    .then("end", act("end"))
    .build();
  return {
    register: [journey],
    run: async (t) => {
      const handle = await t.client.start(journey, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("end");
      expect(log.splice(0)).toEqual(["visa", "flight", "hotel!", "undo flight", "train", "end"]);
    },
  };
});

scenario("a failed compensation does not stop the others and is reported", () => {
  const log: string[] = [];
  const { act, undo } = trip(log);
  const journey = (caught: boolean) => {
    const steps = flow(caught ? "caught" : "failed")
      .then("a", act("a"))
      .compensate(undo("a"))
      .then("b", act("b"))
      .compensate(undo("b!"))
      .then("c", act("c!"));
    return caught
      ? steps
          .catch((f) =>
            f.then("why", ({ compensationFailures }) =>
              compensationFailures?.map((each) => each.message),
            ),
          )
          .build()
      : steps.build();
  };
  const failed = journey(false);
  const caught = journey(true);
  return {
    register: [failed, caught],
    run: async (t) => {
      const one = await t.client.start(failed, undefined, { id: "failed" });
      expect(await t.failure(one)).toMatchObject({
        message: "c! failed",
        compensationErrors: [{ message: "undo b! failed" }],
      });
      expect(log.splice(0)).toEqual(["a", "b", "c!", "undo b!", "undo a"]);
      const two = await t.client.start(caught, undefined, { id: "caught" });
      expect(await t.result(two)).toEqual(["undo b! failed"]);
      expect(log.splice(0)).toEqual(["a", "b", "c!", "undo b!", "undo a"]);
    },
  };
});

scenario("a failure waits for the running compensations of a sibling before it propagates", (t) => {
  const undoing = t.gate<unknown, string>("undoing");
  const order: string[] = [];
  const forked = flow("forked")
    .fork({
      a: (f) =>
        f
          .then("done", () => "done")
          .compensate(undoing.activity)
          .then("bad", (): string => fail("inner"))
          .catch((g) => g.then("handler", () => void order.push("handler"))),
      b: (f) => f.delay("later", "1s").then("worse", (): string => fail("outer")),
    })
    .catch("all", (f) => f.then("report", ({ failure }) => `${failure.message} ${order.length}`))
    .build();
  return {
    register: [forked],
    run: async () => {
      const handle = await t.client.start(forked, undefined, { id: "i" });
      await t.advance("10s");
      expect((await handle.describe()).waitingFor).toMatchObject([{ node: "fork.a/done.defer" }]);
      await undoing.finish({ input: undefined, output: "done" }, "undone");
      expect(await t.result(handle)).toBe("outer 0");
      expect(order).toEqual([]); // the catch of a cancelled branch does not run
    },
  };
});

scenario("a cancel during a running compensation also runs the remaining ones", (t) => {
  const undoing = t.gate<unknown, string>("undoing");
  const log: string[] = [];
  const journey = flow("journey")
    .then("visa", () => "visa")
    .compensate(() => void log.push("undo visa"))
    .fork({
      there: (f) =>
        f
          .then("flight", () => "flight")
          .compensate(undoing.activity)
          .then("hotel", (): string => fail("no room"))
          .catch((g) => g), // an empty handler: the branch and the flow end here
    })
    .build();
  return {
    register: [journey],
    run: async () => {
      const handle = await t.client.start(journey, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("enough");
      await t.settle();
      expect((await handle.describe()).status).toBe("running");
      await undoing.finish({ input: "visa", output: "flight" }, "undone");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(log.splice(0)).toEqual(["undo visa"]);
    },
  };
});

scenario(
  "an unknown route key, a loop over its limit, an invalid loop result and invalid map items fail with the node's name",
  () => {
    const routed = flow<string>("routed")
      .route("r", (key) => key as "a" | "b", { a: (f) => f, b: (f) => f })
      .build();
    const looped = flow<number>("looped")
      .loop("l", (f) => f.then("s", (n) => (n < 0 ? done(n) : again(n + 1))), { maxIterations: 3 })
      .build();
    const lost = flow<number>("lost")
      .loop("l", (f) => f.then("s", (() => 7) as never as () => ReturnType<typeof done<number>>))
      .build();
    const listed = flow<number>("listed")
      .map("m", (() => 7) as never as () => number[], (f) => f.then("x", (n) => n))
      .build();
    return {
      register: [routed, looped, lost, listed],
      run: async (t) => {
        const run = async (
          built: typeof routed | typeof looped | typeof lost | typeof listed,
          input: unknown,
        ) =>
          t.failure(
            await t.client.start(built as typeof routed, input as string, { id: built.name }),
          );
        expect(await run(routed, "c")).toMatchObject({
          message: 'Route "r" has no case for the key "c"; it has "a", "b".',
          cause: { code: "INVALID_ARGUMENT", node: "r" },
        });
        expect(await run(looped, 0)).toMatchObject({
          message: 'Loop "l" did not return done(…) within 3 rounds (maxIterations).',
          cause: { code: "LIMIT_EXCEEDED", node: "l" },
        });
        expect(await run(lost, 0)).toMatchObject({
          message: 'The body of loop "l" must return again(…) or done(…); got 7.',
          cause: { code: "INVALID_ARGUMENT", node: "l" },
        });
        expect(await run(listed, 0)).toMatchObject({
          message: 'The items of map "m" must be an array; got 7.',
          cause: { code: "INVALID_ARGUMENT", node: "m" },
        });
      },
    };
  },
);

scenario("with onMax: exitWithLast a loop at its limit returns the value of its last round", () => {
  const rounds: number[] = [];
  const looped = flow<number>("looped")
    .loop(
      "l",
      (f) =>
        f.then("s", (n) => {
          rounds.push(n);
          return n < 0 ? done("never") : again(n + 1);
        }),
      { maxIterations: 3, onMax: "exitWithLast" },
    )
    .build();
  return {
    register: [looped],
    run: async (t) => {
      const handle = await t.client.start(looped, 0, { id: "i" });
      expect(await t.result(handle)).toBe(3);
      expect(rounds.splice(0)).toEqual([0, 1, 2]);
    },
  };
});
