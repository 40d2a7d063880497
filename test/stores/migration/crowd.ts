// A crowd: instances in every possible state. One runtime creates them and shuts down; another one finishes them.
//   - An id consists of a kind and a number. KINDS lists the kinds, `result` the expected outcome of each.
//   - Every effect counts its executions under a unique name. Each count must be 1 at the end.

import {
  activity,
  event,
  orchestration,
  Perdure,
  type Client,
  type OpenOptions,
  type Provider,
} from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import type { StoreEnvironment } from "../../support/store-environment.ts";

const go = event<string>("go");
const HOUR_MS = 3_600_000;

export class Crowd {
  readonly environment: StoreEnvironment;
  readonly effects = new Map<string, number>();
  readonly #size: number;

  constructor(environment: StoreEnvironment, size: number) {
    this.environment = environment;
    this.#size = size;
  }

  /** The expected number of effects per instance of each kind. */
  static readonly EFFECTS: Readonly<Record<string, number>> = {
    later: 1,
    delayed: 1,
    sleeping: 2,
    queued: 2,
    retrying: 1,
    paused: 2,
    blocked: 1,
    done: 1,
    continued: 4,
    parent: 1,
    detaching: 1,
    detached: 1,
    flowing: 1,
    keyed: 1,
  };
  static readonly KINDS = [
    ...["later", "delayed", "sleeping", "waiting", "queued", "retrying", "paused", "blocked"],
    ...["done", "failing", "cancelled", "terminated", "continued", "parent", "detaching"],
    ...["flowing", "stateful", "keyed"],
  ];
  /** The kinds that start a second instance. */
  static readonly SECONDS: Readonly<Record<string, string>> = {
    parent: "child",
    detaching: "detached",
  };

  ids(kind: string): string[] {
    return Array.from({ length: this.#size }, (_, n) => `${kind}-${n}`);
  }
  /** Including the second instances. */
  get total(): number {
    return this.#size * (Crowd.KINDS.length + Object.keys(Crowd.SECONDS).length);
  }

  /** Opens a runtime on a store. "new" code registers more orchestrations and fixes the errors of "old" code. */
  open(provider: Provider, code: "old" | "new"): Promise<Perdure> {
    return Perdure.open(provider, {
      register: this.#definitions(code),
      runtime: {
        tags: code === "old" ? "untagged" : "any",
        log: () => undefined,
        shadowReplay: "never",
        beatMs: HOUR_MS,
        stallMs: 2 * HOUR_MS,
        pollIntervalMs: HOUR_MS,
      },
    });
  }

  /** Creates the crowd and leaves a dead runtime that holds some leases. */
  async make(provider: Provider): Promise<void> {
    const perdure = await this.open(provider, "old");
    const { client } = perdure;
    for (const kind of Crowd.KINDS) {
      await Promise.all(this.ids(kind).map((id, n) => this.#start(client, kind, id, n)));
    }
    await this.environment.advance(1_000);
    await Promise.all([
      ...this.ids("paused").map((id) => client.get(id).pause({ reason: "for lunch" })),
      ...this.ids("cancelled").map((id) => client.get(id).cancel("not wanted")),
      ...this.ids("terminated").map((id) => client.get(id).terminate("in the way")),
      ...this.ids("waiting").flatMap((id) =>
        ["first", "second"].map((data) =>
          client.raise(id, "other", data, { requestId: `${id}:${data}` }),
        ),
      ),
      ...this.ids("kept").map((id) => client.raise(id, "go", "early", { ifMissing: "keep" })),
    ]);
    await client.pauseQueue("paused", { reason: "moving" });
    await this.environment.advance(1_000);
    const closing = perdure.close();
    await this.environment.advance(HOUR_MS / 60);
    await closing;
    await this.#leaveDead(provider);
  }

  /** Raises all awaited events and advances time until all instances have ended. */
  async finish(provider: Provider): Promise<void> {
    const perdure = await this.open(provider, "new");
    const { client } = perdure;
    const waiting = ["waiting", "child", "flowing", "stateful"];
    await Promise.all([
      ...waiting.flatMap((kind) => this.ids(kind)).map((id) => client.raise(id, "go", "gone")),
      ...this.ids("paused").map((id) => client.get(id).resume()),
      ...this.ids("blocked").map((id) => client.get(id).unblock()),
      ...this.ids("kept").map((id) => client.start("keeping", undefined, { id })),
    ]);
    await this.environment.advance(48 * HOUR_MS);
    const closing = perdure.close();
    await this.environment.advance(HOUR_MS);
    await closing;
  }

  /** The result of an instance of a kind; for an instance that did not complete, its error as text. */
  static result(kind: string, id: string): unknown {
    const results: Readonly<Record<string, unknown>> = {
      waiting: ["gone", "first", "second"],
      queued: [`${id}:gpu`, `${id}:session`],
      continued: [0, `${id}:1`, `${id}:2`, `${id}:3`],
      parent: `gone of ${id.replace("parent", "child")}`,
      child: `gone of ${id}`,
      flowing: "gone",
      stateful: [
        ["cart", { items: [1n, new Date(0)] }],
        ["seen", "gone"],
      ],
      kept: "early",
      failing: `OrchestrationError: ${id} failed`,
      cancelled: "OrchestrationError: cancelled: not wanted",
      terminated: "OrchestrationError: terminated: in the way",
    };
    return results[kind] ?? id;
  }

  #start(client: Client, kind: string, id: string, n: number): Promise<unknown> {
    if (kind === "keyed") return debounce(client.provider, id);
    const options = { id, requestId: `start ${id}`, attributes: { kind, shard: String(n % 7) } };
    const delayed = kind === "delayed" ? { delay: "2h" as const } : {};
    return client.start(kind, id, { ...options, ...delayed, priority: 1 + (n % 5) });
  }

  async #leaveDead(provider: Provider): Promise<void> {
    const registered = JSON.stringify({ staleMs: 5_000 });
    const registration = {
      id: "dead",
      nodeId: "node",
      hostname: "host",
      process: null,
      registered,
    };
    await provider.registerRuntime(registration);
    const lease = { owner: "dead", token: 7, limit: 5, allowSuspect: false };
    const { instances } = await provider.leaseInstances({
      ...lease,
      targets: ["later"],
      messagesMax: 10,
    });
    // A session of a node outlives the runtimes of the node.
    const sessions = { owner: "node", token: 7, leaseMs: HOUR_MS, newMax: 10, inFlight: [] };
    const request = { ...lease, names: ["effect"], tags: "any" as const };
    const { tasks } = await provider.leaseTasks({ ...request, sessions });
    if (instances.length !== 5 || tasks.length !== 5) {
      throw new Error(
        `the dead runtime holds ${instances.length} instances and ${tasks.length} tasks`,
      );
    }
    await this.environment.advance(6_000);
  }

  #did(name: string): string {
    this.effects.set(name, (this.effects.get(name) ?? 0) + 1);
    return name;
  }

  #definitions(code: "old" | "new"): NonNullable<OpenOptions["register"]> {
    const effect = activity("effect", (name: string) => this.#did(name));
    const flaky = activity(
      "flaky",
      async (name: string, { stream }) => {
        await stream("words").write(name); // void after a failed attempt
        if (code === "old") throw new Error("not today");
        return this.#did(name);
      },
      { retry: { maxAttempts: 5, backoff: { kind: "fixed", base: "3h" } } },
    );
    const sleeper = (name: string) =>
      orchestration(name, async (ctx, id: string) => {
        await ctx.run(effect, `${id}:before`);
        await ctx.sleep("1d");
        await ctx.run(effect, `${id}:after`);
        return id;
      });
    const once = (name: string) =>
      orchestration(name, async (ctx, id: string) => {
        await ctx.run(effect, `${id}:once`);
        return id;
      });
    const child = orchestration(
      "child",
      async (ctx, id: string) => `${await ctx.waitFor(go)} of ${id}`,
    );
    const old = [
      effect,
      flaky,
      child,
      once("delayed"),
      once("done"),
      once("detached"),
      sleeper("sleeping"),
      sleeper("paused"),
      orchestration("waiting", async (ctx, _: string) => {
        const first = await ctx.waitFor(go);
        return [first, await ctx.waitFor("other"), await ctx.waitFor("other")];
      }),
      orchestration("queued", (ctx, id: string) =>
        ctx.all([
          ctx.run(effect, `${id}:gpu`, { tags: ["gpu", "big"], priority: 2 }),
          ctx.run(effect, `${id}:session`, { tags: "gpu", session: `cart ${id}` }),
        ]),
      ),
      orchestration("retrying", async (ctx, id: string) => {
        await ctx.run(flaky, `${id}:flaky`);
        return id;
      }),
      orchestration("blocked", async (ctx, id: string) => {
        await ctx.run(effect, `${id}:once`);
        if (code === "old") await new Promise(() => undefined);
        return id;
      }),
      orchestration("failing", async (_, id: string) => {
        throw new Error(`${id} failed`, { cause: new TypeError("deep") });
      }),
      orchestration("cancelled", async (ctx, _: string) => ctx.sleep("30d")),
      orchestration("terminated", async (ctx, _: string) => ctx.sleep("30d")),
      orchestration("continued", async (ctx, input: string | readonly unknown[]) => {
        const [left, ...names]: readonly unknown[] =
          typeof input === "string" ? [3] : (input as readonly unknown[]);
        const { instanceId, executionId } = ctx.info;
        if (left === 0) {
          await ctx.sleep("1h");
          await ctx.run(effect, `${instanceId}:last`);
          return [left, ...names];
        }
        const name = await ctx.run(effect, `${instanceId}:${executionId}`);
        return ctx.continueAsNew([(left as number) - 1, ...names, name]);
      }),
      orchestration("parent", async (ctx, id: string) => {
        await ctx.run(effect, `${id}:once`);
        const childId = id.replace("parent", "child");
        return ctx.call(child, childId, { id: childId });
      }),
      orchestration("detaching", async (ctx, id: string) => {
        await ctx.run(effect, `${id}:once`);
        const other = id.replace("detaching", "detached");
        void ctx.startDetached("detached", other, { id: other });
        await ctx.sleep("1d");
        return id;
      }),
      flow<string>("flowing").then("work", effect).waitFor(go).build(),
      orchestration("stateful", async (ctx, id: string) => {
        ctx.kv.set("cart", { items: [1n, new Date(0)] });
        ctx.setStatus({ stands: id, at: 1 });
        ctx.setAttributes({ mood: "grüßend \u{1F600}" });
        for (const word of ["grüßend", id]) ctx.stream("words").write(word);
        ctx.kv.set("seen", await ctx.waitFor(go));
        ctx.stream("words").close();
        return ctx.kv.entries();
      }),
    ];
    const keeping = orchestration("keeping", (ctx) => ctx.waitFor(go));
    return code === "old" ? old : [...old, once("later"), once("keyed"), keeping];
  }
}

/** A debounced start of an orchestration without a version. */
async function debounce(provider: Provider, id: string): Promise<void> {
  const runId = `run of ${id}`;
  const input = JSON.stringify(id);
  const names = { name: "keyed", orchestrationVersion: "" };
  const kind = "OrchestrationStarted";
  const started = JSON.stringify({ kind, ...names, input, runId, seed: "0".repeat(32) });
  const start = startItem({ id, runId, name: "keyed", started });
  const key = { kind: "debounce", key: id, waitMs: 2 * HOUR_MS, maxMs: null } as const;
  const [result] = await provider.commit([{ kind: "enqueue", start, key }]);
  if (result?.kind !== "started") throw new Error(`${id} is ${result?.kind}`);
}
