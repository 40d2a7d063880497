// Contract of listing: all instances in the order of creation, page by page (admin.2).

import { expect } from "vitest";
import {
  LISTED_BYTES_MAX,
  WAITS_MAX,
  type InstanceFilter,
  type InstanceRecord,
  type ListRequest,
} from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  cancelItem,
  CHARGE,
  eventText,
  newInstance,
  newTask,
  ORDER,
  sendItem,
  startItem,
  stateChange,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** The ids of one page. */
export async function listed(
  setup: Setup,
  filter: InstanceFilter = {},
  fields: Partial<ListRequest> = {},
): Promise<string[]> {
  const request: ListRequest = { filter, order: "oldest", limit: 100, cursor: null, ...fields };
  const { items } = await setup.provider.listInstances(request);
  return items.map(({ id }) => id);
}

/** The ids of all pages; `between` runs after each of them. */
async function walk(
  setup: Setup,
  fields: Pick<ListRequest, "order" | "limit"> & { readonly filter?: InstanceFilter },
  between: (page: number) => Promise<void> = async () => {},
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let page = 1; ; page++) {
    const request: ListRequest = { filter: {}, ...fields, cursor };
    const found = await setup.provider.listInstances(request);
    expect(found.items.length).toBeLessThanOrEqual(fields.limit);
    ids.push(...found.items.map(({ id }) => id));
    ({ cursor } = found);
    if (cursor === null) return ids;
    await between(page);
  }
}

/** Creates instances one after another, some of them in the same millisecond. */
async function startMany(setup: Setup, count: number, prefix = "i"): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(2, "0")}`);
  for (const [i, id] of ids.entries()) {
    await setup.start(id);
    if (i % 3 === 2) await setup.environment.advance(1);
  }
  return ids;
}

function withoutOutput({ output: _, ...rest }: InstanceRecord): Omit<InstanceRecord, "output"> {
  return rest;
}

export const listing: ContractSubject = {
  subject: "listing",
  cases: [
    {
      title: "an empty store has one empty page",
      async run(setup) {
        const request = { filter: {}, order: "newest", limit: 10, cursor: null } as const;
        expect(await setup.provider.listInstances(request)).toEqual({ items: [], cursor: null });
        expect(await setup.provider.countInstances({})).toBe(0);
      },
    },
    {
      title: "an instance is listed with the same fields as its record, without the output",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { customer: "42" }, priority: 2 });
        await setup.turn(held, { events: [eventText()], starts: [newInstance({ id: "b" })] });
        const request = { filter: {}, order: "oldest", limit: 10, cursor: null } as const;
        const { items } = await setup.provider.listInstances(request);
        expect(items).toEqual([
          withoutOutput(await setup.read("a")),
          withoutOutput(await setup.read("b")),
        ]);
      },
    },
    {
      title: "a list contains no outputs and leaves out texts that exceed the limit (admin.5)",
      async run(setup) {
        const long = "x".repeat(LISTED_BYTES_MAX + 1);
        const ended = await setup.hold("ended");
        await setup.complete(ended, JSON.stringify(long));
        const held = await setup.hold("held", { attributes: { note: long } });
        await setup.turn(held, { state: stateChange({ status: { value: long } }) });
        const failed = await setup.hold("failed");
        const error = JSON.stringify({ kind: "OrchestrationFailed", note: long });
        await setup.turn(failed, {
          events: [eventText()],
          change: { kind: "ended", status: "failed", output: null, error },
        });
        const request = { filter: {}, order: "oldest", limit: 10, cursor: null } as const;
        const { items } = await setup.provider.listInstances(request);
        expect(items.map(({ id }) => id)).toEqual(["ended", "held", "failed"]);
        expect(items[0]).not.toHaveProperty("output");
        expect(items[0]).not.toHaveProperty("leftOut");
        const attributes = JSON.stringify({ note: long }).length;
        expect(items[1]).toMatchObject({
          customStatus: null,
          attributes: {},
          leftOut: { customStatus: long.length, attributes },
        });
        expect(items[2]).toMatchObject({ error: null, leftOut: { error: error.length } });
        for (const item of items) expect(item).not.toHaveProperty("damaged");
        expect((await setup.read("ended")).output).toBe(JSON.stringify(long));
      },
    },
    {
      title: "the waits of a list are the first tasks and timers, live children and the last row",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1 };
        const events = Array.from({ length: 2 * WAITS_MAX }, () => eventText());
        await setup.turn(held, {
          events,
          tasks: Array.from({ length: WAITS_MAX + 1 }, (_, i) => newTask({ sequence: i + 2 })),
          timers: [{ kind: "timer", sequence: 8, delayMs: 50 }],
          starts: [newInstance({ id: "child", parent: { ...parent, sequence: 9 } })],
        });
        const [waits, other] = await setup.provider.readWaits([
          held.key,
          (await setup.hold("b")).key,
        ]);
        const sequences = Array.from({ length: WAITS_MAX }, (_, i) => i + 2);
        expect(waits?.tasks.map(({ sequence }) => sequence)).toEqual(sequences);
        expect(waits?.tasks[0]).toMatchObject({ name: CHARGE, attempt: 0, owner: null });
        expect(waits?.timers).toEqual([{ sequence: 8, due: setup.provider.now() + 50 }]);
        expect(waits?.children).toEqual([{ sequence: 9, id: "child", name: ORDER }]);
        expect(waits?.lastRow?.last).toBe((await setup.read("a")).lastEvent);
        expect(other).toMatchObject({ tasks: [], timers: [], children: [] });
        await setup.turn(held, { events: [eventText("x".repeat(LISTED_BYTES_MAX))] });
        expect((await setup.provider.readWaits([held.key]))[0]?.lastRow).toBeNull();
      },
    },
    {
      title:
        "findInstances and listInstances return the same instances and accept the same cursors",
      async run(setup) {
        const ids = await startMany(setup, 7);
        const request = { filter: {}, order: "newest", limit: 3, cursor: null } as const;
        const first = await setup.provider.findInstances(request);
        const { key, id, status, createdAt, completedAt } = await setup.read("i06");
        expect(first.items[0]).toEqual({ key, id, status, createdAt, completedAt });
        const { cursor } = first;
        const second = await setup.provider.listInstances({ ...request, cursor });
        const third = await setup.provider.findInstances({ ...request, cursor: second.cursor });
        const found = [first, second, third].flatMap((page) => page.items.map((item) => item.id));
        expect(found).toEqual(ids.toReversed());
        expect(third.cursor).toBeNull();
      },
    },
    {
      title: "instances are listed in the order of creation, from either end",
      async run(setup) {
        const ids = await startMany(setup, 10);
        expect(await listed(setup, {}, { order: "oldest" })).toEqual(ids);
        expect(await listed(setup, {}, { order: "newest" })).toEqual(ids.toReversed());
      },
    },
    {
      title: "turns, messages, an end and a restart do not change the position of an instance",
      async run(setup) {
        const first = await setup.hold("first");
        await setup.environment.advance(5);
        await setup.start("second");
        await setup.environment.advance(5);
        await setup.turn(first, { events: [eventText()] });
        await setup.commit(sendItem({ id: "first" }));
        await setup.complete(first);
        expect(await listed(setup)).toEqual(["first", "second"]);
        await setup.commit(startItem({ id: "first", onConflict: "restart" }));
        expect(await listed(setup)).toEqual(["first", "second"]);
      },
    },
    {
      title:
        "pages of any size contain every instance once, in order, and the last page has no cursor (admin.2)",
      async run(setup) {
        const ids = await startMany(setup, 10);
        for (const limit of [1, 2, 3, 5, 9, 10, 11, 1_000]) {
          expect(await walk(setup, { order: "oldest", limit })).toEqual(ids);
          expect(await walk(setup, { order: "newest", limit })).toEqual(ids.toReversed());
        }
      },
    },
    {
      title: "a full last page has no cursor",
      async run(setup) {
        await startMany(setup, 4);
        const request = { filter: {}, order: "oldest", limit: 4, cursor: null } as const;
        expect(await setup.provider.listInstances(request)).toMatchObject({ cursor: null });
        const half = await setup.provider.listInstances({ ...request, limit: 2 });
        const { cursor } = half;
        expect(cursor).not.toBeNull();
        const rest = await setup.provider.listInstances({ ...request, limit: 2, cursor });
        expect(rest.items).toHaveLength(2);
        expect(rest.cursor).toBeNull();
      },
    },
    {
      title: "instances created in the same millisecond are all listed",
      async run(setup) {
        const ids = Array.from({ length: 60 }, (_, i) => `same-${String(i).padStart(2, "0")}`);
        await setup.provider.commit(ids.map((id) => startItem({ id })));
        for (const order of ["oldest", "newest"] as const) {
          const found = await walk(setup, { order, limit: 7 });
          expect(found.toSorted()).toEqual(ids);
        }
        const forth = await walk(setup, { order: "oldest", limit: 7 });
        expect(await walk(setup, { order: "newest", limit: 11 })).toEqual(forth.toReversed());
      },
    },
    {
      title: "instances created during paging do not repeat or hide other instances (admin.2)",
      async run(setup) {
        const ids = await startMany(setup, 12);
        for (const order of ["oldest", "newest"] as const) {
          const found = await walk(setup, { order, limit: 3 }, async (page) => {
            await setup.start(`${order}-${page}`);
            await setup.environment.advance(1);
          });
          const old = found.filter((id) => ids.includes(id));
          expect(old).toEqual(order === "oldest" ? ids : ids.toReversed());
          expect(new Set(found).size).toBe(found.length);
        }
      },
    },
    {
      title:
        "instances that end or are deleted during paging do not hide other instances (admin.2)",
      async run(setup) {
        const ids = await startMany(setup, 9);
        const found = await walk(setup, { order: "oldest", limit: 3 }, async (page) => {
          await setup.commit({
            kind: "terminate",
            id: `i0${page}`,
            status: "terminated",
            terminated: "{}",
            childRequest: "{}",
          });
          await setup.provider.deleteInstance({ id: "i02", force: true });
        });
        expect(found).toEqual(ids);
        expect(await listed(setup)).toEqual(ids.filter((id) => id !== "i02"));
      },
    },
    {
      title:
        "an instance that stops matching the filter during paging does not hide other instances",
      async run(setup) {
        const ids = await startMany(setup, 9);
        const filter: InstanceFilter = { status: ["pending"] };
        const found = await walk(setup, { order: "oldest", limit: 3, filter }, async (page) => {
          await setup.commit({
            kind: "terminate",
            id: page === 1 ? "i00" : "i04",
            status: "terminated",
            terminated: "{}",
            childRequest: "{}",
          });
        });
        expect(found).toEqual(ids);
      },
    },
    {
      title: "a cursor remains valid after its instance is deleted",
      async run(setup) {
        const ids = await startMany(setup, 6);
        const request = { filter: {}, order: "newest", limit: 2, cursor: null } as const;
        const { items, cursor } = await setup.provider.listInstances(request);
        for (const { id } of items) await setup.provider.deleteInstance({ id, force: true });
        expect(await listed(setup, {}, { order: "newest", cursor })).toEqual(
          ids.slice(0, 4).toReversed(),
        );
      },
    },
    {
      title: "a cursor contains only URL-safe characters, and an invalid cursor is refused",
      async run(setup) {
        await startMany(setup, 3);
        const request = { filter: {}, order: "oldest", limit: 1, cursor: null } as const;
        const { cursor } = await setup.provider.listInstances(request);
        expect(cursor).toMatch(/^[\w.~-]+$/);
        for (const nonsense of ["", "nonsense", "%", "{}"]) {
          const listing = setup.provider.listInstances({ ...request, cursor: nonsense });
          await expect(listing).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
        }
      },
    },
    {
      title: "the count equals the number of listed instances, across all pages",
      async run(setup) {
        await startMany(setup, 25);
        await setup.commit(cancelItem("i03"));
        const filters: InstanceFilter[] = [{}, { idPrefix: "i1" }, { status: [] }, { name: "x" }];
        for (const filter of filters) {
          const found = await walk(setup, { order: "oldest", limit: 4, filter });
          expect(await setup.provider.countInstances(filter)).toBe(found.length);
        }
      },
    },
    {
      title:
        "the children of an instance are listed oldest first, without grandchildren and children of other parents",
      async run(setup) {
        const held = await setup.hold("parent");
        const other = await setup.hold("other");
        const parent = { id: "parent", runId: held.runId, execution: 1 };
        const child = (id: string, sequence: number) =>
          newInstance({ id, parent: { ...parent, sequence } });
        await setup.turn(held, { events: [eventText()], starts: [child("z", 2), child("b", 3)] });
        await setup.environment.advance(1);
        await setup.turn(held, { events: [eventText()], starts: [child("a", 4)] });
        await setup.turn(other, {
          events: [eventText()],
          starts: [
            newInstance({ id: "detached" }),
            newInstance({
              id: "grandchild",
              parent: { id: "a", runId: "r", execution: 1, sequence: 2 },
            }),
          ],
        });
        const children = await setup.provider.listChildren("parent");
        expect(children.map(({ id }) => id)).toEqual(["z", "b", "a"]);
        const { key, id, status, createdAt, completedAt } = await setup.read("a");
        expect(children[2]).toEqual({ key, id, status, createdAt, completedAt });
        expect(await setup.provider.listChildren("other")).toEqual([]);
        expect(await setup.provider.listChildren("missing")).toEqual([]);
      },
    },
    {
      title: "children of an earlier execution and ended children are listed",
      async run(setup) {
        const held = await setup.hold("parent");
        await setup.startChild(held, "child");
        await setup.complete(held);
        await setup.commit(startItem({ id: "parent", onConflict: "restart" }));
        await setup.commit({
          kind: "terminate",
          id: "child",
          status: "terminated",
          terminated: '{"kind":"OrchestrationFailed"}',
          childRequest: "{}",
        });
        expect(await setup.provider.listChildren("parent")).toMatchObject([
          { id: "child", status: "terminated" },
        ]);
      },
    },
    {
      title: "a list shows leases, pauses and blocks",
      async run(setup) {
        const { key, token } = await setup.hold("a");
        const request = { filter: {}, order: "oldest", limit: 1, cursor: null } as const;
        const only = async () => (await setup.provider.listInstances(request)).items[0];
        expect(await only()).toMatchObject({ owner: ALPHA, paused: null });
        await setup.commit({ kind: "pause", id: "a", info: '{"reason":"x"}' });
        await setup.commit({ kind: "block", key, token, reason: '{"code":"x"}', by: ALPHA });
        expect(await only()).toMatchObject({
          owner: null,
          paused: '{"reason":"x"}',
          blocked: '{"code":"x"}',
        });
      },
    },
  ],
};
