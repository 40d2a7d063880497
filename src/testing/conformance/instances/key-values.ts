// Contract of key-values: the turns of an instance write them, and every client can read them
// (provider.state.1, provider.state.3).

import { expect } from "vitest";
import type { KeyValueChange } from "../../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  claimOf,
  eventText,
  type Held,
  outcomeText,
  pauseItem,
  startItem,
  stateChange,
  TASK_LEASE,
  terminateItem,
  turnItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const set = (key: string, value: string): KeyValueChange => ({ key, value });
const remove = (key: string): KeyValueChange => ({ key, value: null });
const CLEAR: KeyValueChange = { key: null, value: null };

async function change(setup: Setup, held: Held, ...keyValues: KeyValueChange[]): Promise<void> {
  await setup.turn(held, { state: stateChange({ keyValues }) });
}

export async function keyValues(setup: Setup, id: string): Promise<Record<string, string>> {
  const records = await setup.provider.readKeyValues(id);
  return Object.fromEntries(records.map(({ key, value }) => [key, value]));
}

export const keyValueContract: ContractSubject = {
  subject: "key-values",
  cases: [
    {
      title: "changes of key-values are applied in order: set, overwrite, delete, clear",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          state: stateChange({ keyValues: [set("x", "1"), set("y", "2"), set("x", "3")] }),
        });
        expect(await keyValues(setup, "a")).toEqual({ x: "3", y: "2" });
        await setup.turn(held, { state: stateChange({ keyValues: [{ key: "x", value: null }] }) });
        expect(await keyValues(setup, "a")).toEqual({ y: "2" });
        await setup.turn(held, {
          state: stateChange({
            keyValues: [set("gone", "1"), { key: null, value: null }, set("z", "4")],
          }),
        });
        expect(await keyValues(setup, "a")).toEqual({ z: "4" });
      },
    },
    {
      title: "a key-value is read with the time of its last change, and a missing key as null",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.hold("b");
        await setup.environment.advance(25);
        await setup.turn(held, { state: stateChange({ keyValues: [set("k", '"v"')] }) });
        expect(await setup.provider.readKeyValue("a", "k")).toEqual({
          key: "k",
          value: '"v"',
          updatedAt: setup.environment.now(),
        });
        expect(await setup.provider.readKeyValue("a", "other")).toBeNull();
        expect(await setup.provider.readKeyValue("b", "k")).toBeNull();
        expect(await setup.provider.readKeyValue("missing", "k")).toBeNull();
      },
    },
    {
      title: "all key-values are read at once, one record per key, in the order of the keys",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("b", "1"), set("a", "2"));
        await setup.environment.advance(10);
        await change(setup, held, set("c", "3"), set("b", "4"));
        const now = setup.environment.now();
        expect(await setup.provider.readKeyValues("a")).toEqual([
          { key: "a", value: "2", updatedAt: now - 10 },
          { key: "b", value: "4", updatedAt: now },
          { key: "c", value: "3", updatedAt: now },
        ]);
      },
    },
    {
      title:
        "an instance without key-values and an instance that does not exist return an empty list",
      async run(setup) {
        await setup.hold("a");
        expect(await setup.provider.readKeyValues("a")).toEqual([]);
        expect(await setup.provider.readKeyValues("missing")).toEqual([]);
      },
    },
    {
      title: "instances have separate key-values",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        await change(setup, a, set("k", "1"));
        await change(setup, b, set("k", "2"), set("own", "3"));
        await change(setup, a, CLEAR);
        expect(await keyValues(setup, "a")).toEqual({});
        expect(await keyValues(setup, "b")).toEqual({ k: "2", own: "3" });
      },
    },
    {
      title: "deleting a missing key, or clearing an empty set, changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, CLEAR, remove("k"));
        await change(setup, held, set("k", "1"), remove("other"));
        expect(await keyValues(setup, "a")).toEqual({ k: "1" });
      },
    },
    {
      title: "a key can be deleted and set again in one turn",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"));
        await change(setup, held, remove("k"), set("k", "2"), set("l", "3"), remove("l"));
        expect(await keyValues(setup, "a")).toEqual({ k: "2" });
      },
    },
    {
      title: "any text can be a key or a value, including the empty text",
      async run(setup) {
        const held = await setup.hold("a");
        const texts = [
          "",
          "__proto__",
          "'; DROP TABLE kv; --",
          'ä%_\\"',
          "\u{1f9e1}",
          "a\nb",
          "null",
        ];
        await change(setup, held, ...texts.map((text) => set(text, text)));
        for (const text of texts) {
          const record = await setup.provider.readKeyValue("a", text);
          expect(record).toMatchObject({ key: text, value: text });
        }
        expect(await setup.provider.readKeyValues("a")).toHaveLength(texts.length);
        await change(setup, held, remove("__proto__"));
        expect(await setup.provider.readKeyValue("a", "__proto__")).toBeNull();
        expect(await setup.provider.readKeyValue("a", "")).not.toBeNull();
      },
    },
    {
      title: "keys are compared exactly, including case and spaces",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("key", "1"), set("Key", "2"), set("key ", "3"));
        expect(await keyValues(setup, "a")).toEqual({ key: "1", Key: "2", "key ": "3" });
      },
    },
    {
      title: "a value of 64 KiB is read back completely (semantics 9)",
      async run(setup) {
        const held = await setup.hold("a");
        const value = JSON.stringify("ä".repeat(32 * 1024));
        await change(setup, held, set("large", value));
        expect((await setup.provider.readKeyValue("a", "large"))?.value).toBe(value);
      },
    },
    {
      title:
        "the turn that ends an instance can change key-values, which stay readable (provider.state.3)",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"));
        await setup.complete(held, "null", {
          state: stateChange({ keyValues: [set("end", "2")] }),
        });
        expect(await keyValues(setup, "a")).toEqual({ k: "1", end: "2" });
        await setup.hold("b").then((b) => change(setup, b, set("k", "1")));
        await setup.commit(terminateItem("b"));
        expect(await keyValues(setup, "b")).toEqual({ k: "1" });
      },
    },
    {
      title: "the turn that continues as new can change key-values, which the next execution keeps",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"), set("l", "1"));
        await continueAsNew(setup, held, { state: stateChange({ keyValues: [remove("l")] }) });
        await change(setup, held, set("m", "2"));
        expect(await keyValues(setup, "a")).toEqual({ k: "1", m: "2" });
      },
    },
    {
      title: "a start that terminates the existing instance begins without key-values (I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"));
        await setup.commit(startItem({ id: "a", onConflict: "useExisting" }));
        expect(await keyValues(setup, "a")).toEqual({ k: "1" });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await keyValues(setup, "a")).toEqual({});
      },
    },
    {
      title: "a turn that is refused for a pause or for a lost task changes no key-values (I1)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        const state = stateChange({ keyValues: [set("k", "1"), CLEAR, set("l", "2")] });
        const finished = [claimOf(task, 78)];
        const events = [outcomeText(task.sequence)];
        const lost = turnItem(held, { events, finished, state });
        expect(await setup.commit(lost)).toMatchObject({ kind: "refused" });
        await setup.commit(pauseItem("a"));
        const paused = turnItem(held, { events: [eventText()], state });
        expect(await setup.commit(paused)).toMatchObject({ kind: "refused" });
        expect(await keyValues(setup, "a")).toEqual({});
      },
    },
  ],
};
