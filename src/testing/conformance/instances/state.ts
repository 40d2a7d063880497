// Contract of visible state: a turn writes the custom status and attributes that it changed
// (provider.state.1–provider.state.3).

import { expect } from "vitest";
import type { KeyValueChange } from "../../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  eventText,
  heldFrom,
  pauseItem,
  resumeItem,
  startItem,
  stateChange,
  terminateItem,
  turnItem,
} from "../fixture.ts";
import { keyValues } from "./key-values.ts";

const set = (key: string, value: string): KeyValueChange => ({ key, value });

export const visibleState: ContractSubject = {
  subject: "visible state",
  cases: [
    {
      title: "every commit that sets the status raises its version by one (provider.state.2)",
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
      title: "a turn without a status change keeps the status and its version",
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
      title: "a turn replaces all attributes or none",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { a: "1", b: "2" } });
        await setup.turn(held, { state: stateChange({ attributes: { b: "3", c: "4" } }) });
        await setup.turn(held, { state: stateChange({ status: { value: "1" } }) });
        expect(await setup.read("a")).toMatchObject({ attributes: { b: "3", c: "4" } });
        expect((await setup.read("a")).attributes).not.toHaveProperty("a");
      },
    },
    {
      title: "a refused turn changes no state (provider.state.1, I1)",
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
      title:
        "status and key-values are kept after continueAsNew and after the end (provider.state.3)",
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
        "a restart clears status and key-values and does not reuse a status version (I11, provider.state.2)",
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
    {
      title: "the next status of a restarted instance has a new version (provider.state.2)",
      async run(setup) {
        const held = await setup.hold("a");
        const state = stateChange({ status: { value: '"old"' } });
        for (let i = 0; i < 3; i++) await setup.turn(held, { state });
        await setup.complete(held);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        const next = heldFrom(await setup.leaseOnly("a"));
        await setup.turn(next, { state: stateChange({ status: { value: '"new"' } }) });
        const { customStatus, customStatusVersion } = await setup.read("a");
        expect(customStatus).toBe('"new"');
        expect(customStatusVersion).toBeGreaterThan(3);
      },
    },
    {
      title:
        "a start that terminates the existing instance clears its status (I11, provider.state.2)",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { old: "1" } });
        await setup.turn(held, { state: stateChange({ status: { value: "1" } }) });
        const attributes = { new: "2" };
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting", attributes }));
        const record = await setup.read("a");
        expect(record).toMatchObject({ customStatus: null, attributes });
        expect(record.attributes).not.toHaveProperty("old");
        expect(record.customStatusVersion).toBeGreaterThanOrEqual(1);
      },
    },
    {
      title:
        "the turn that ends an instance can set the last status, and a termination keeps the status",
      async run(setup) {
        const held = await setup.hold("a");
        const state = stateChange({ status: { value: '"last"' }, attributes: { end: "1" } });
        await setup.complete(held, "1", { state });
        expect(await setup.read("a")).toMatchObject({
          status: "completed",
          customStatus: '"last"',
          attributes: { end: "1" },
        });
        const other = await setup.hold("b");
        await setup.turn(other, { state });
        await setup.commit(terminateItem("b"));
        expect(await setup.read("b")).toMatchObject({
          status: "terminated",
          customStatus: '"last"',
          customStatusVersion: 1,
        });
      },
    },
    {
      title: "attributes are kept by continueAsNew, unless its turn replaces them (21)",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { a: "1" } });
        await continueAsNew(setup, held);
        expect(await setup.read("a")).toMatchObject({ attributes: { a: "1" } });
        const state = stateChange({ attributes: { b: "2" }, status: { value: "3" } });
        await continueAsNew(setup, held, { state });
        const { attributes, customStatus } = await setup.read("a");
        expect({ attributes, customStatus }).toEqual({ attributes: { b: "2" }, customStatus: "3" });
      },
    },
    {
      title: "a status of 256 KiB and attributes with special characters are read back unchanged",
      async run(setup) {
        const held = await setup.hold("a");
        const value = JSON.stringify("ä\u{1f9e1}".repeat(40_000));
        const attributes = { "": "", 'q"': "it's", "\u{1f9e1}": "ä\n", constructor: "x" };
        await setup.turn(held, { state: stateChange({ status: { value }, attributes }) });
        const record = await setup.read("a");
        expect(record.customStatus).toBe(value);
        expect(record.attributes).toEqual(attributes);
      },
    },
    {
      title:
        "a turn that is refused for a pause changes no state, and the same turn is committed after the resume",
      async run(setup) {
        const held = await setup.hold("a");
        const turn = turnItem(held, { state: stateChange({ status: { value: "1" } }) });
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(turn)).toMatchObject({ kind: "refused" });
        expect(await setup.read("a")).toMatchObject({ customStatus: null, customStatusVersion: 0 });
        await setup.commit(resumeItem("a"));
        expect(await setup.commit(turn)).toMatchObject({ kind: "committed" });
        expect(await setup.read("a")).toMatchObject({ customStatus: "1", customStatusVersion: 1 });
      },
    },
    {
      title: "listeners are notified of a state change after the commit (notifications.1)",
      async run(setup) {
        const held = await setup.hold("a");
        const changed: string[] = [];
        setup.provider.subscribe((news) => changed.push(...news.changed));
        await setup.turn(held, { events: [eventText()] });
        await setup.environment.settle();
        expect(changed).toEqual([]);
        await setup.turn(held, { state: stateChange({ status: { value: "1" } }) });
        await setup.turn(held, { state: stateChange({ keyValues: [set("k", "1")] }) });
        await setup.environment.settle();
        expect(changed).toEqual(["a", "a"]);
      },
    },
  ],
};
