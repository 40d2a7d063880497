// Versions and deployments: an execution stays on its version; new executions use the newest version (semantics 22).

import { expect } from "vitest";
import { activity, orchestration, type OrchestrationContext } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const step = activity("step", (name: string) => name);

/** Returns the version that began it and the version that ended it. */
function versioned(version: string) {
  return orchestration(
    "versioned",
    async (ctx) => {
      const first = await ctx.run(step, `begun by ${version}`);
      await ctx.waitFor("go");
      return `${first}, ended by ${ctx.info.version}`;
    },
    { version },
  );
}
const [v1, v2] = [versioned("1.0.0"), versioned("2.0.0")];

scenario("a start by name uses the newest version, a start by object or option the named one", {
  register: [step, v1, v2],
  run: async (t) => {
    const byName = await t.client.start("versioned", undefined, { id: "name" });
    const byObject = await t.client.start(v1, undefined, { id: "object" });
    const byOption = await t.client.start("versioned", undefined, {
      id: "option",
      version: "1.0.0",
    });
    await t.settle();
    for (const handle of [byName, byObject, byOption]) await handle.raise("go");
    expect(await t.result(byName)).toBe("begun by 2.0.0, ended by 2.0.0");
    expect(await t.result(byObject)).toBe("begun by 1.0.0, ended by 1.0.0");
    expect(await t.result(byOption)).toBe("begun by 1.0.0, ended by 1.0.0");
    expect(await byName.describe()).toMatchObject({ version: "2.0.0" });
  },
});

scenario("a running instance stays on its version when a newer version is deployed", {
  register: [step, v1],
  run: async (t) => {
    const old = await t.client.start("versioned", undefined, { id: "old" });
    await t.settle();
    await t.deploy([step, v1, v2]);
    const fresh = await t.client.start("versioned", undefined, { id: "fresh" });
    await t.settle();
    await old.raise("go");
    await fresh.raise("go");
    expect(await t.result(old)).toBe("begun by 1.0.0, ended by 1.0.0");
    expect(await t.result(fresh)).toBe("begun by 2.0.0, ended by 2.0.0");
  },
});

scenario("an instance waits while its version is not registered", {
  register: [step, v1],
  run: async (t) => {
    const handle = await t.client.start(v1, undefined, { id: "i" });
    await t.settle();
    await t.deploy([step, v2]);
    await handle.raise("go");
    await t.advance("1d");
    const info = await handle.describe();
    expect(info).toMatchObject({ status: "running", version: "1.0.0" });
    expect(info.blocked).toBeUndefined();
    await t.deploy([step, v1, v2]);
    expect(await t.result(handle)).toBe("begun by 1.0.0, ended by 1.0.0");
  },
});

scenario("a start with an unregistered version waits for that version", {
  register: [step, v1],
  run: async (t) => {
    const handle = await t.client.start("versioned", undefined, { id: "i", version: "2.0.0" });
    await t.advance("1d");
    expect(await handle.describe()).toMatchObject({ status: "pending" });
    await t.boot([step, v2]);
    await handle.raise("go");
    expect(await t.result(handle)).toBe("begun by 2.0.0, ended by 2.0.0");
  },
});

/** Continues as new at each event and returns the versions of its executions. */
function eternal(version: string, options?: { version: string }) {
  return orchestration(
    "eternal",
    async (ctx: OrchestrationContext<string[]>, path: string[]): Promise<string[]> => {
      const here = [...path, ctx.info.version];
      if ((await ctx.waitFor("next")) === "stop") return here;
      return options === undefined ? ctx.continueAsNew(here) : ctx.continueAsNew(here, options);
    },
    { version },
  );
}

scenario("continueAsNew uses the newest registered version", {
  register: [eternal("1.0.0")],
  run: async (t) => {
    const handle = await t.client.start("eternal", [], { id: "i" });
    await handle.raise("next");
    await t.settle();
    await t.deploy([eternal("1.0.0"), eternal("1.5.0")]);
    await handle.raise("next");
    await t.settle();
    await handle.raise("next", "stop");
    expect(await t.result(handle)).toEqual(["1.0.0", "1.0.0", "1.5.0"]);
  },
});

scenario("continueAsNew can switch to a named newer or older version", {
  register: [eternal("1.0.0", { version: "3.0.0" }), eternal("3.0.0", { version: "1.0.0" })],
  run: async (t) => {
    const handle = await t.client.start("eternal", [], { id: "i", version: "1.0.0" });
    for (const word of ["on", "on", "stop"]) {
      await handle.raise("next", word);
      await t.settle();
    }
    expect(await t.result(handle)).toEqual(["1.0.0", "3.0.0", "1.0.0"]);
  },
});

scenario("continueAsNew to an unregistered version waits for that version and keeps its messages", {
  register: [eternal("1.0.0", { version: "9.0.0" })],
  run: async (t) => {
    const handle = await t.client.start("eternal", [], { id: "i" });
    await handle.raise("next", "on");
    await t.settle();
    await handle.raise("next", "stop");
    await t.advance("1d");
    expect(await handle.describe()).toMatchObject({ execution: 2, status: "running" });
    await t.boot([eternal("9.0.0")]);
    expect(await t.result(handle)).toEqual(["1.0.0", "9.0.0"]);
  },
});

scenario("a child uses the given version, by default the newest", {
  register: [
    ...["1.0.0", "2.0.0", "10.0.0"].map((version) =>
      orchestration("kid", async (ctx) => ctx.info.version, { version }),
    ),
    orchestration("main", async (ctx) => [
      await ctx.call("kid"),
      await ctx.call("kid", undefined, { version: "2.0.0" }),
    ]),
  ],
  run: async (t) => {
    const handle = await t.client.start("main", undefined, { id: "p" });
    expect(await t.result(handle)).toEqual(["10.0.0", "2.0.0"]);
  },
});

scenario("in a rolling deployment old and new processes run the versions that they register", {
  register: [step, v1],
  run: async (t) => {
    const old = t.process;
    const a = await t.client.start(v1, undefined, { id: "a" });
    await t.settle();
    await t.boot([step, v1, v2]);
    const b = await t.client.start(v2, undefined, { id: "b" });
    await t.settle();
    await t.stop(old);
    await t.client.get(a.id).raise("go");
    await b.raise("go");
    expect(await t.result(t.client.get("a"))).toBe("begun by 1.0.0, ended by 1.0.0");
    expect(await t.result(t.client.get("b"))).toBe("begun by 2.0.0, ended by 2.0.0");
  },
});

scenario("a waiting call runs as soon as one process registers its activity", {
  register: [step],
  run: async (t) => {
    const added = activity("added", () => "by the new process");
    const main = orchestration("main", async (ctx) => [
      await ctx.run(step, "old"),
      await ctx.run(added),
      await ctx.run(step, "old again"),
    ]);
    await t.boot([step, main]);
    const handle = await t.client.start(main, undefined, { id: "i" });
    await t.advance("1m");
    expect((await handle.describe()).waitingFor).toMatchObject([{ name: "added" }]);
    await t.boot([added]);
    expect(await t.result(handle)).toEqual(["old", "by the new process", "old again"]);
  },
});

scenario("a turn that receives only a completion still has the version, input and parent", (t) => {
  const work = t.gate<string, string>("work");
  const kid = (version: string) =>
    orchestration(
      "kid",
      async (ctx, n: number): Promise<unknown> => {
        await ctx.run(work.activity, `of ${version}`);
        const seen = [ctx.info.version, n, ctx.info.parent?.id, ctx.info.executionId];
        return n === 1 ? ctx.continueAsNew(2, { version: "1.1.0" }) : seen;
      },
      { version },
    );
  const main = orchestration("main", (ctx) => ctx.call("kid", 1, { id: "kid", version: "1.1.0" }));
  return {
    register: [work.activity, kid("1.1.0"), main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await t.deploy([work.activity, kid("1.0.0"), kid("1.1.0"), kid("2.0.0"), main]);
      await work.finish("of 1.1.0", "first execution");
      await t.deploy();
      await work.finish("of 1.1.0", "second execution");
      expect(await t.result(handle)).toEqual(["1.1.0", 2, "p", 2]);
    },
  };
});
