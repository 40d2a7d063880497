// Key-values: an instance's own, written with its turns and readable by anybody (ST1, ST3).

import { expect } from "vitest";
import type { KeyValueChange } from "../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  claimOf,
  eventText,
  outcomeText,
  pauseItem,
  startItem,
  stateChange,
  terminateItem,
  turnItem,
  type Held,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

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
      title: "key-values are changed in the order given: set, overwritten, deleted, cleared",
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
      title: "a key-value reads back with when it was written, and one that is missing as null",
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
        expect(await setup.provider.readKeyValue("nobody", "k")).toBeNull();
      },
    },
    {
      title: "all of them are read at once, one record a key, in the order of the keys",
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
      title: "an instance without any, and one that does not exist, have none to read",
      async run(setup) {
        await setup.hold("a");
        expect(await setup.provider.readKeyValues("a")).toEqual([]);
        expect(await setup.provider.readKeyValues("nobody")).toEqual([]);
      },
    },
    {
      title: "one instance's keys are not another's",
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
      title: "deleting a key that is not there, or all where there are none, changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, CLEAR, remove("k"));
        await change(setup, held, set("k", "1"), remove("other"));
        expect(await keyValues(setup, "a")).toEqual({ k: "1" });
      },
    },
    {
      title: "a key may be deleted and set anew within one turn",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"));
        await change(setup, held, remove("k"), set("k", "2"), set("l", "3"), remove("l"));
        expect(await keyValues(setup, "a")).toEqual({ k: "2" });
      },
    },
    {
      title: "any text can be a key or a value, the empty one too",
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
      title: "keys differ by case and by every character",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("key", "1"), set("Key", "2"), set("key ", "3"));
        expect(await keyValues(setup, "a")).toEqual({ key: "1", Key: "2", "key ": "3" });
      },
    },
    {
      title: "a value of 64 KiB is read back whole (semantics 9)",
      async run(setup) {
        const held = await setup.hold("a");
        const value = JSON.stringify("ä".repeat(32 * 1024));
        await change(setup, held, set("large", value));
        expect((await setup.provider.readKeyValue("a", "large"))?.value).toBe(value);
      },
    },
    {
      title: "they are changed by the turn that ends the instance, and stay readable (ST3)",
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
      title: "they are changed by the turn that continues as new, and go on in the next execution",
      async run(setup) {
        const held = await setup.hold("a");
        await change(setup, held, set("k", "1"), set("l", "1"));
        await continueAsNew(setup, held, { state: stateChange({ keyValues: [remove("l")] }) });
        await change(setup, held, set("m", "2"));
        expect(await keyValues(setup, "a")).toEqual({ k: "1", m: "2" });
      },
    },
    {
      title: "a start that terminates the existing instance begins without them (I11)",
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
      title: "neither a turn refused for a pause nor one refused for a lost task changes any (I1)",
      async run(setup) {
        const held = await setup.hold("a");
        const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
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
