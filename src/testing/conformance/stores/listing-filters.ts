// Contract of filters for lists and counts: an instance must match every member of the filter (admin.1).

import { expect } from "vitest";
import type { InstanceFilter } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  cancelItem,
  eventText,
  failedText,
  newInstance,
  pauseItem,
  startItem,
  stateChange,
  terminateItem,
} from "../fixture.ts";
import { listed } from "./listing.ts";
import type { Setup } from "../setup.ts";

/** The ids that the filter selects. Also checks that the count is the same. */
async function found(setup: Setup, filter: InstanceFilter): Promise<string[]> {
  const ids = await listed(setup, filter);
  expect(await setup.provider.countInstances(filter)).toBe(ids.length);
  expect((await listed(setup, filter, { order: "newest" })).toReversed()).toEqual(ids);
  return ids;
}

/** Creates one instance of every status; its id is the status. */
async function oneOfEach(setup: Setup): Promise<void> {
  await setup.start("pending");
  await setup.hold("running");
  await setup.hold("paused");
  await setup.commit(pauseItem("paused"));
  await setup.complete(await setup.hold("completed"));
  const error = failedText("failed");
  await setup.turn(await setup.hold("failed"), {
    events: [error],
    change: { kind: "ended", status: "failed", output: null, error },
  });
  await setup.start("cancelled", { delayMs: 1_000 });
  await setup.commit(cancelItem("cancelled"));
  await setup.hold("terminated");
  await setup.commit(terminateItem("terminated"));
}

export const listingFilters: ContractSubject = {
  subject: "listing filters",
  cases: [
    {
      title: "by status: one status selects its instances, and several statuses select the union",
      async run(setup) {
        await oneOfEach(setup);
        const all = [
          "pending",
          "running",
          "completed",
          "failed",
          "cancelled",
          "terminated",
        ] as const;
        for (const status of all)
          expect(await found(setup, { status: [status] })).toEqual([status]);
        expect(await found(setup, { status: ["failed", "pending"] })).toEqual([
          "pending",
          "failed",
        ]);
        expect(await found(setup, { status: [...all] })).toHaveLength(all.length);
      },
    },
    {
      title:
        'by status: "paused" selects paused instances, which then count neither as pending nor as running',
      async run(setup) {
        await oneOfEach(setup);
        expect(await found(setup, { status: ["paused"] })).toEqual(["paused"]);
        expect(await found(setup, { status: ["paused", "running"] })).toEqual([
          "running",
          "paused",
        ]);
        await setup.commit(pauseItem("pending"));
        expect(await found(setup, { status: ["pending"] })).toEqual([]);
        await setup.commit({ kind: "resume", id: "paused" });
        expect(await found(setup, { status: ["running"] })).toEqual(["running", "paused"]);
      },
    },
    {
      title: "an empty list matches nothing, and an absent member matches everything (admin.1)",
      async run(setup) {
        await oneOfEach(setup);
        expect(await found(setup, { status: [] })).toEqual([]);
        expect(await found(setup, { ids: [] })).toEqual([]);
        expect(await found(setup, {})).toHaveLength(7);
        expect(await found(setup, { attributes: {} })).toHaveLength(7);
      },
    },
    {
      title:
        "by name and version: both must be equal, and an instance without a version matches no version",
      async run(setup) {
        await setup.hold("a", { name: "order", version: "1.0.0" });
        await setup.hold("b", { name: "order", version: "1.0.1" });
        await setup.hold("c", { name: "orders", version: "1.0.0" });
        await setup.start("d", { name: "order" });
        expect(await found(setup, { name: "order" })).toEqual(["a", "b", "d"]);
        expect(await found(setup, { version: "1.0.0" })).toEqual(["a", "c"]);
        expect(await found(setup, { name: "order", version: "1.0.0" })).toEqual(["a"]);
        expect(await found(setup, { name: "Order" })).toEqual([]);
      },
    },
    {
      title: "by parent: an id selects its children, and null selects the roots",
      async run(setup) {
        const held = await setup.hold("parent");
        const parent = { id: "parent", runId: held.runId, execution: 1, sequence: 2 };
        const starts = [newInstance({ id: "child", parent }), newInstance({ id: "detached" })];
        await setup.turn(held, { events: [eventText()], starts });
        expect(await found(setup, { parent: "parent" })).toEqual(["child"]);
        expect(await found(setup, { parent: "child" })).toEqual([]);
        expect(await found(setup, { parent: null })).toEqual(["parent", "detached"]);
      },
    },
    {
      title: "by id prefix: no character is a wildcard",
      async run(setup) {
        const ids = ["a_1", "a%1", "ab1", "A_1", "a", "a_", "b_1", "a\\_", "a_\u{1f9e1}"];
        for (const id of ids) await setup.start(id);
        expect(await found(setup, { idPrefix: "a_" })).toEqual(["a_1", "a_", "a_\u{1f9e1}"]);
        expect(await found(setup, { idPrefix: "a%" })).toEqual(["a%1"]);
        expect(await found(setup, { idPrefix: "A" })).toEqual(["A_1"]);
        expect(await found(setup, { idPrefix: "a\\" })).toEqual(["a\\_"]);
        expect(await found(setup, { idPrefix: "a_1" })).toEqual(["a_1"]);
        expect(await found(setup, { idPrefix: "a_11" })).toEqual([]);
        expect(await found(setup, { idPrefix: "" })).toEqual(ids);
      },
    },
    {
      title: "by id prefix: prefixes at the boundaries of Unicode ranges work",
      async run(setup) {
        const last = "\u{10ffff}";
        const ids = ["\ud7ff1", "\ue0001", `x${last}1`, "y", `${last}1`, "\uffff1", "\u{10000}1"];
        for (const id of ids) await setup.start(id);
        expect(await found(setup, { idPrefix: "\ud7ff" })).toEqual(["\ud7ff1"]);
        expect(await found(setup, { idPrefix: "\ue000" })).toEqual(["\ue0001"]);
        expect(await found(setup, { idPrefix: `x${last}` })).toEqual([`x${last}1`]);
        expect(await found(setup, { idPrefix: "x" })).toEqual([`x${last}1`]);
        expect(await found(setup, { idPrefix: last })).toEqual([`${last}1`]);
        expect(await found(setup, { idPrefix: "\uffff" })).toEqual(["\uffff1"]);
        expect(await found(setup, { idPrefix: "\u{10000}" })).toEqual(["\u{10000}1"]);
      },
    },
    {
      title: "by ids: selects the instances that exist, each once, in the order of creation",
      async run(setup) {
        for (const id of ["a", "b", "c", "it's", 'x"y']) await setup.start(id);
        expect(await found(setup, { ids: ["c", "a", "missing", "a"] })).toEqual(["a", "c"]);
        expect(await found(setup, { ids: ["it's", 'x"y'] })).toEqual(["it's", 'x"y']);
        const many = Array.from({ length: 5_000 }, (_, i) => `n${i}`);
        expect(await found(setup, { ids: [...many, "b"] })).toEqual(["b"]);
      },
    },
    {
      title: "by attributes: every attribute must be present with the exact value",
      async run(setup) {
        await setup.start("a", { attributes: { customer: "42", region: "eu" } });
        await setup.start("b", { attributes: { customer: "42" } });
        await setup.start("c", { attributes: { customer: "4" } });
        await setup.start("d", { attributes: { region: "42" } });
        await setup.start("e");
        expect(await found(setup, { attributes: { customer: "42" } })).toEqual(["a", "b"]);
        const both = { customer: "42", region: "eu" };
        expect(await found(setup, { attributes: both })).toEqual(["a"]);
        expect(await found(setup, { attributes: { customer: "" } })).toEqual([]);
      },
    },
    {
      title: "by attributes: names and values with special characters are compared exactly",
      async run(setup) {
        const texts = ["", ".", "$", "a.b", "[0]", 'q"', "it's", "ä\\", "null", "1", "\u{1f9e1}"];
        for (const [i, text] of texts.entries()) {
          await setup.start(`i${i}`, { attributes: { [text]: text, other: "x" } });
        }
        for (const [i, text] of texts.entries()) {
          expect(await found(setup, { attributes: { [text]: text } })).toEqual([`i${i}`]);
        }
        expect(await found(setup, { attributes: { a: "b" } })).toEqual([]);
      },
    },
    {
      title: "by attributes: uses the values that the last turn or restart has set",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { step: "1" } });
        await setup.turn(held, { state: stateChange({ attributes: { step: "2" } }) });
        expect(await found(setup, { attributes: { step: "1" } })).toEqual([]);
        expect(await found(setup, { attributes: { step: "2" } })).toEqual(["a"]);
        await setup.complete(held);
        await setup.commit(
          startItem({ id: "a", onConflict: "restart", attributes: { step: "3" } }),
        );
        expect(await found(setup, { attributes: { step: "2" } })).toEqual([]);
        expect(await found(setup, { attributes: { step: "3" } })).toEqual(["a"]);
      },
    },
    {
      title: "by block: selects blocked instances, or instances that are not blocked",
      async run(setup) {
        const { key, token } = await setup.hold("blocked");
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        await setup.hold("free");
        expect(await found(setup, { blocked: true })).toEqual(["blocked"]);
        expect(await found(setup, { blocked: false })).toEqual(["free"]);
        await setup.commit({ kind: "unblock", id: "blocked" });
        expect(await found(setup, { blocked: true })).toEqual([]);
      },
    },
    {
      title: "by time: before and after exclude the given moment",
      async run(setup) {
        const begin = setup.environment.now();
        for (const id of ["a", "b", "c"]) {
          await setup.complete(await setup.hold(id));
          await setup.environment.advance(10);
        }
        await setup.hold("live");
        expect(await found(setup, { createdAfter: begin })).toEqual(["b", "c", "live"]);
        expect(await found(setup, { createdBefore: begin + 20 })).toEqual(["a", "b"]);
        expect(await found(setup, { createdAfter: begin, createdBefore: begin + 20 })).toEqual([
          "b",
        ]);
        expect(await found(setup, { completedBefore: begin + 10 })).toEqual(["a"]);
        expect(await found(setup, { completedBefore: begin + 1_000 })).toEqual(["a", "b", "c"]);
      },
    },
    {
      title: "all members of a filter must match (admin.1)",
      async run(setup) {
        const begin = setup.environment.now();
        await setup.environment.advance(5);
        const fields = { name: "order", version: "2.0.0", attributes: { customer: "42" } };
        for (const id of ["x-1", "x-2", "y-1"]) await setup.complete(await setup.hold(id, fields));
        await setup.environment.advance(5);
        const filter: InstanceFilter = {
          status: ["completed"],
          name: "order",
          version: "2.0.0",
          parent: null,
          idPrefix: "x-",
          ids: ["x-2", "y-1"],
          attributes: { customer: "42" },
          blocked: false,
          createdAfter: begin,
          createdBefore: begin + 10,
          completedBefore: begin + 10,
        };
        expect(await found(setup, filter)).toEqual(["x-2"]);
        const others: InstanceFilter[] = [
          { status: ["failed"] },
          { name: "other" },
          { version: "1.0.0" },
          { parent: "x-1" },
          { idPrefix: "z" },
          { ids: ["x-1"], idPrefix: "x-2" },
          { attributes: { customer: "43" } },
          { blocked: true },
          { createdAfter: begin + 5 },
          { createdBefore: begin + 5 },
          { completedBefore: begin + 5 },
        ];
        for (const other of others) expect(await found(setup, { ...filter, ...other })).toEqual([]);
      },
    },
    {
      title:
        "by time and status: a restarted instance keeps its creation time and has no completion time",
      async run(setup) {
        const begin = setup.environment.now();
        const held = await setup.hold("a");
        await setup.complete(held);
        await setup.environment.advance(10);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await found(setup, { completedBefore: begin + 100 })).toEqual([]);
        expect(await found(setup, { status: ["pending"], createdBefore: begin + 1 })).toEqual([
          "a",
        ]);
      },
    },
  ],
};
