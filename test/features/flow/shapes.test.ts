// Shapes of flows in the modes hot, cold and shadow, and with a process death in every commit.

import { expect, test } from "vitest";
import { Client, type Provider } from "../../../src/index.ts";
import { faults } from "../../scenarios/support/invariants.ts";
import { replay } from "../../scenarios/support/replay-check.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import { takeSnapshot } from "../../scenarios/support/snapshot.ts";
import { World } from "../../scenarios/support/world.ts";
import { SHAPES, type Shape } from "./shapes.ts";

for (const shape of SHAPES) {
  scenario(`${shape.title}: hot, cold and shadow give the same result`, () => ({
    register: [shape.flow, ...(shape.register ?? [])],
    run: async (t) => {
      const handle = await t.client.start(shape.flow, shape.input as never, { id: "i" });
      for (const { name, data } of shape.signals ?? []) {
        await t.settle();
        await handle.raise(name, data);
      }
      await t.advance("1h");
      expect(await t.result(handle)).toEqual(shape.result);
    },
  }));

  test.each(["before", "after"] as const)(
    `${shape.title}: a process death %s the write of any commit changes nothing`,
    async (when) => {
      for (let commit = 1; ; commit++) {
        const died = await withDeath(shape, { commit, when });
        if (!died) break;
      }
    },
  );
}

/** Runs a shape in a process that dies in its nth commit, then in a second one. Returns false if it had fewer commits. */
async function withDeath(
  shape: Shape,
  death: { readonly commit: number; readonly when: "before" | "after" },
): Promise<boolean> {
  const t = new World({ mode: "hot", modeOptions: {} });
  try {
    const register = [shape.flow, ...(shape.register ?? [])];
    await t.open({ store: "memory", register, runtime: {} });
    const client = independentClient(t.store);
    const line = dieIn(t, death);
    await client.start(shape.flow, shape.input as never, { id: "i" });
    t.started.add("i");
    const rest = async (): Promise<void> => {
      await t.settle();
      if (!line.isSevered || t.process.line !== line) return;
      await t.boot();
      await t.advance("5h");
    };
    for (const { name, data } of shape.signals ?? []) {
      await rest();
      await client.raise("i", name, data);
    }
    await rest();
    for (let hour = 0; hour < 3; hour++) {
      await t.advance("1h");
      await rest();
    }
    const where = `death ${death.when} commit ${death.commit}`;
    expect(await client.get("i").result({ timeout: 0 }), where).toEqual(shape.result);
    await checkHistories(t, client);
    return line.isSevered;
  } finally {
    await t.close();
  }
}

/** A client whose calls reach the store after the death of the process. */
function independentClient(store: Provider): Client {
  const commit = store.commit.bind(store);
  const provider = new Proxy(store, {
    get: (target, name) => {
      if (name === "commit") return commit;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member as () => unknown).bind(target) : member;
    },
  });
  return new Client(provider);
}

function dieIn(t: World, death: { commit: number; when: "before" | "after" }) {
  const { line } = t.process;
  const { store } = t;
  const commit = store.commit.bind(store);
  let count = 0;
  store.commit = async (items) => {
    if (++count !== death.commit) return commit(items);
    if (death.when === "after") await commit(items);
    line.sever();
    return new Promise<never>(() => undefined);
  };
  return line;
}

async function checkHistories(t: World, client: Client): Promise<void> {
  for (const [id, { info, executions }] of await takeSnapshot(client, t.started)) {
    for (const [execution, events] of executions) {
      expect(faults(events), `execution ${execution} of ${id}`).toEqual([]);
      const definition = t.definitions.get(`${info.name}@${info.version}`);
      if (definition?.kind !== "orchestration") continue;
      const replayed = await replay(definition, info, execution, events);
      expect(replayed.blocked, `replay of ${execution} of ${id}`).toBeNull();
      expect(replayed.end).toEqual(replayed.recordedEnd);
    }
  }
}
