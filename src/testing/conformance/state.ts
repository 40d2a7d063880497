// Visible state: custom status, key-values and attributes, written with the turn that changed them (ST1–ST3).

import { expect } from "vitest";
import type { KeyValueChange } from "../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "./contract-case.ts";
import { eventText, startItem, stateChange, turnItem } from "./fixture.ts";
import type { Setup } from "./setup.ts";

const set = (key: string, value: string): KeyValueChange => ({ key, value });

async function keyValues(setup: Setup, id: string): Promise<Record<string, string>> {
  const records = await setup.provider.readKeyValues(id);
  return Object.fromEntries(records.map(({ key, value }) => [key, value]));
}

export const visibleState: ContractSubject = {
  subject: "visible state",
  cases: [
    {
      title: "every commit that sets the status raises its version by one (ST2)",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.read("a")).toMatchObject({ customStatus: null, customStatusVersion: 0 });
        for (const [value, version] of [
          ['"half"', 1],
          ['"half"', 2],
          [null, 3],
          ['"done"', 4],
        ] as const) {
          await setup.turn(held, { state: stateChange({ status: { value } }) });
          expect(await setup.read("a")).toMatchObject({
            customStatus: value,
            customStatusVersion: version,
          });
        }
      },
    },
    {
      title: "a turn that says nothing of the status leaves it and its version alone",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { state: stateChange({ status: { value: '"half"' } }) });
        await setup.turn(held, { events: [eventText()] });
        await setup.turn(held, { state: stateChange({ keyValues: [set("k", "1")] }) });
        expect(await setup.read("a")).toMatchObject({
          customStatus: '"half"',
          customStatusVersion: 1,
        });
      },
    },
    {
      title: "attributes are replaced as a whole, or left",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { a: "1", b: "2" } });
        await setup.turn(held, { state: stateChange({ attributes: { b: "3", c: "4" } }) });
        await setup.turn(held, { state: stateChange({ status: { value: "1" } }) });
        expect(await setup.read("a")).toMatchObject({ attributes: { b: "3", c: "4" } });
        expect((await setup.read("a")).attributes).not.toHaveProperty("a");
      },
    },
    {
      title: "a refused turn changes no state (ST1, I1)",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { a: "1" } });
        const record = await setup.read("a");
        const state = stateChange({
          status: { value: "1" },
          attributes: {},
          keyValues: [set("k", "1")],
        });
        const stale = turnItem(held, { token: held.token + 1, events: [eventText()], state });
        expect(await setup.commit(stale)).toMatchObject({ kind: "refused" });
        expect(await setup.read("a")).toEqual(record);
        expect(await keyValues(setup, "a")).toEqual({});
      },
    },
    {
      title: "status and key-values outlive continue as new and the end (ST3)",
      async run(setup) {
        const held = await setup.hold("a");
        const state = stateChange({ status: { value: "1" }, keyValues: [set("k", "1")] });
        await setup.turn(held, { state });
        await continueAsNew(setup, held);
        expect(await setup.read("a")).toMatchObject({ customStatus: "1", customStatusVersion: 1 });
        await setup.turn(held, { state: stateChange({ status: { value: "2" } }) });
        await setup.complete(held);
        expect(await setup.read("a")).toMatchObject({ customStatus: "2", customStatusVersion: 2 });
        expect(await keyValues(setup, "a")).toEqual({ k: "1" });
      },
    },
    {
      title:
        "a restart begins without status and key-values, and no version comes twice (I11, ST2)",
      async run(setup) {
        const held = await setup.hold("a");
        const state = stateChange({ status: { value: "1" }, keyValues: [set("k", "1")] });
        await setup.turn(held, { state });
        await setup.complete(held);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        const record = await setup.read("a");
        expect(record.customStatus).toBeNull();
        expect(record.customStatusVersion).toBeGreaterThanOrEqual(1);
        expect(await keyValues(setup, "a")).toEqual({});
      },
    },
  ],
};
