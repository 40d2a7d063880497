// Tags, end to end: which worker runs which activity (semantics 15; duroxide's tag tests).

import { expect, test } from "vitest";
import {
  activity,
  orchestration,
  Perdure,
  type ActivityContext,
  type RuntimeOptions,
  type TagFilter,
} from "../../../src/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";

const where = activity("where", (_: undefined, { info }: ActivityContext) => info.worker);
const GPU: RuntimeOptions = { tags: { tags: ["gpu"], untagged: false } };
const ORCHESTRATOR: RuntimeOptions = { tags: "none" };

scenario("an untagged activity runs on a runtime without tags", () => {
  const main = orchestration("main", (ctx) => ctx.run(where));
  return {
    register: [where, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe(t.process.perdure.runtime.id);
    },
  };
});

scenario("a tagged activity waits for a worker with its tag without a time limit", () => {
  const main = orchestration("main", (ctx) => ctx.run(where, undefined, { tags: "gpu" }));
  return {
    register: [where, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("1d");
      await expect(t.result(t.client.get("i"))).rejects.toMatchObject({ code: "TIMEOUT" });
      const worker = await t.boot(undefined, GPU);
      expect(await t.result(t.client.get("i"))).toBe(worker.perdure.runtime.id);
    },
  };
});

scenario("a worker with untagged: false does not run untagged activities", () => {
  const main = orchestration("main", (ctx) => ctx.run(where));
  return {
    register: [where, main],
    runtime: GPU,
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await expect(t.result(t.client.get("i"))).rejects.toMatchObject({ code: "TIMEOUT" });
      const other = await t.boot(undefined, { tags: "untagged" });
      expect(await t.result(t.client.get("i"))).toBe(other.perdure.runtime.id);
    },
  };
});

scenario("a worker with tags and untagged: true runs both", () => {
  const main = orchestration("main", async (ctx) => [
    await ctx.run(where),
    await ctx.run(where, undefined, { tags: ["gpu"] }),
  ]);
  return {
    register: [where, main],
    runtime: { tags: { tags: ["gpu"], untagged: true } },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      const id = t.process.perdure.runtime.id;
      expect(await t.result(t.client.get("i"))).toEqual([id, id]);
    },
  };
});

scenario("a worker with tags: any runs all activities", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([[], ["a"], ["b", "a"]].map((tags) => ctx.run(where, undefined, { tags }))),
  );
  return {
    register: [where, main],
    runtime: { tags: "any" },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toHaveLength(3);
    },
  };
});

scenario("a runtime with tags: none runs turns and no activities", () => {
  const main = orchestration("main", (ctx) => ctx.run(where));
  return {
    register: [where, main],
    runtime: ORCHESTRATOR,
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.story(t.client.get("i"))).toHaveLength(2);
      const worker = await t.boot([where], { tags: "any" });
      expect(await t.result(t.client.get("i"))).toBe(worker.perdure.runtime.id);
    },
  };
});

scenario("a worker must have all tags of a task", () => {
  const main = orchestration("main", (ctx) => ctx.run(where, undefined, { tags: ["eu", "gpu"] }));
  return {
    register: [where, main],
    runtime: GPU,
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      await expect(t.result(t.client.get("i"))).rejects.toMatchObject({ code: "TIMEOUT" });
      const both = await t.boot(undefined, { tags: { tags: ["gpu", "eu", "x"], untagged: false } });
      expect(await t.result(t.client.get("i"))).toBe(both.perdure.runtime.id);
    },
  };
});

scenario("history records tags sorted and unique, and the activity sees them", () => {
  const show = activity("show", (_: undefined, { info }: ActivityContext) => info.tags);
  const main = orchestration("main", (ctx) =>
    ctx.run(show, undefined, { tags: ["b", "a", "b", "ä", "A"] }),
  );
  return {
    register: [show, main],
    runtime: { tags: "any" },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      const sorted = ["A", "a", "b", "ä"];
      expect(await t.result(t.client.get("i"))).toEqual(sorted);
      const events = await t.events(t.client.get("i"));
      expect(events[1]).toMatchObject({ kind: "ActivityScheduled", tags: sorted });
    },
  };
});

scenario("a call can replace or remove the default tags of an activity", () => {
  const show = activity("show", (_: undefined, { info }: ActivityContext) => info.tags, {
    tags: "default",
  });
  const main = orchestration("main", async (ctx) => [
    await ctx.run(show),
    await ctx.run(show, undefined, { tags: "own" }),
    await ctx.run(show, undefined, { tags: [] }),
  ]);
  return {
    register: [show, main],
    runtime: { tags: "any" },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toEqual([["default"], ["own"], []]);
    },
  };
});

scenario("an orchestration can give up on a tag without a worker by a race with a timer", (t) => {
  const main = orchestration("main", async (ctx) => {
    const winner = await ctx.race({
      gpu: ctx.run(where, undefined, { tags: "gpu" }),
      late: ctx.sleep("1m"),
    });
    return winner.key === "late" ? ctx.run(where) : "on a gpu";
  });
  return {
    register: [where, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(await t.result(t.client.get("i"))).toBe(t.process.perdure.runtime.id);
    },
  };
});

scenario("a retry keeps its tags", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.run(work.activity, "x", { tags: "gpu", attempts: 2 }),
  );
  return {
    register: [work.activity, main],
    runtime: GPU,
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await work.fail("x", new Error("once"));
      await t.boot(undefined, { tags: "untagged" });
      await t.advance("1m");
      expect(work.visits.map(({ context }) => context.info.tags)).toEqual([["gpu"], ["gpu"]]);
      await work.finish("x", "done");
      expect(await t.result(t.client.get("i"))).toBe("done");
    },
  };
});

scenario("many tasks that no worker accepts do not delay other tasks", () => {
  const main = orchestration("main", async (ctx) => {
    for (let i = 0; i < 20; i++) void ctx.run(where, undefined, { tags: "gpu", priority: 1 });
    return ctx.run(where);
  });
  return {
    register: [where, main],
    runtime: { activityConcurrency: 1, leaseBatch: 1 },
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe(t.process.perdure.runtime.id);
    },
  };
});

test.each<[string, unknown, string]>([
  ["an empty tag", "", "INVALID_ARGUMENT"],
  ["an empty tag in a list", ["a", ""], "INVALID_ARGUMENT"],
  ["a number", 7, "INVALID_ARGUMENT"],
  ["a list with a number", [7], "INVALID_ARGUMENT"],
])("%s is refused when the activity is defined", (_, tags, code) => {
  const define = () => activity("a", () => 1, { tags: tags as string });
  expect(define).toThrow(expect.objectContaining({ code }));
});

test("20 tags of 256 bytes are accepted", () => {
  const tags = Array.from({ length: 20 }, (_, i) => String(i).padEnd(256, "x"));
  expect(activity("a", () => 1, { tags }).options.tags).toEqual(tags.toSorted());
});

scenario("invalid tags are refused at the call, and the code can catch the error", () => {
  const main = orchestration("main", async (ctx) => {
    try {
      await ctx.run(where, undefined, { tags: [""] });
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return "accepted";
  });
  return {
    register: [where, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe("INVALID_ARGUMENT");
    },
  };
});

const TOO_MUCH: readonly [string, string | readonly string[]][] = [
  ["a tag of 257 bytes", "x".repeat(257)],
  ["a tag of 258 bytes in 129 characters", "ä".repeat(129)],
  ["21 tags", Array.from({ length: 21 }, (_, i) => `t${i}`)],
];
const tagged = (tags: string | readonly string[]) =>
  orchestration("main", async (ctx) => {
    const { name } = await ctx.run(namedWhere, undefined, { tags });
    return name;
  });
const namedWhere = activity("where", () => ({ name: "here" }));

for (const [what, tags] of TOO_MUCH) {
  scenario(`${what} is refused at the call (semantics 9)`, () => ({
    register: [namedWhere, tagged(tags)],
    run: async (t) => {
      await t.client.start("main", undefined, { id: "i" });
      const refused = t.result(t.client.get("i"));
      await expect(refused).rejects.toMatchObject({ cause: { code: "LIMIT_EXCEEDED" } });
    },
  }));
  scenario(`${what} is accepted if the limits of the runtime allow it`, () => ({
    register: [namedWhere, tagged(tags)],
    runtime: { limits: { tagsMax: 21, tagBytesMax: 258 }, tags: "any" },
    run: async (t) => {
      await t.client.start("main", undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe("here");
    },
  }));
}

test.each<[string, unknown]>([
  ["an unknown value", "all"],
  ["a list", ["gpu"]],
  ["no tags", { tags: [], untagged: true }],
  ["a text instead of a list", { tags: "gpu", untagged: true }],
  ["an empty tag", { tags: [""], untagged: true }],
  ["no value for untagged", { tags: ["gpu"] }],
  ["an unknown option", { tags: ["gpu"], untagged: true, all: true }],
])("a runtime with %s as its filter is refused", async (_, tags) => {
  const opened = Perdure.open(":memory:", { runtime: { tags: tags as TagFilter } });
  await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
