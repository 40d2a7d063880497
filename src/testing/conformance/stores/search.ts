// Contract of searches: tests of attributes, text, orders and counts (admin.7 to admin.10).

import { expect } from "vitest";
import type { StoredAttribute, StoredAttributes } from "../../../core/define/attributes.ts";
import type {
  AttributeTest,
  InstanceFilter,
  InstanceRecord,
  ListRequest,
} from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  eventText,
  failedText,
  forkItem,
  newInstance,
  pauseItem,
  startItem,
  stateChange,
  terminateItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { expectedIds } from "./search-model.ts";

const LONG = "long".repeat(50); // as long as the part of a text that the SQL stores keep in an index
const VALUES: readonly StoredAttribute[] = [
  ...["", "a", "A", "ab", "b", "42", "é", "\u{1F600}", "\uFFFD", LONG, `${LONG}a`, `${LONG}b`],
  ...[0, 1, 42, -1.5, 0.1, 1e21, 5e-324, 9007199254740993],
  ...[true, false],
  ...[0, 42, 1_700_000_000_000].map((date) => ({ date })),
];
const NAMES = ["order", "Orders", "ship"] as const;
const STATUSES = ["pending", "running", "paused", "completed", "failed", "terminated"] as const;

/** The ids of all pages of a list. */
async function pages(
  setup: Setup,
  request: Pick<ListRequest, "filter" | "order" | "limit" | "orderBy">,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await setup.provider.findInstances({ ...request, cursor });
    ids.push(...page.items.map(({ id }) => id));
    ({ cursor } = page);
  } while (cursor !== null);
  return ids;
}

/** A generator of numbers from 0 to 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Draw {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  below(max: number): number {
    return Math.floor(this.#random() * max);
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T; // the list is not empty
  }
  chance(share: number): boolean {
    return this.#random() < share;
  }

  attributes(): StoredAttributes {
    const names = ["a", "b", "c"].filter(() => this.chance(0.6));
    return Object.fromEntries(names.map((name) => [name, this.of(VALUES)]));
  }

  test(): AttributeTest {
    const kind = this.below(9);
    const value = this.of(VALUES);
    if (kind === 0) return { exists: this.chance(0.5) };
    if (kind === 1) return { in: Array.from({ length: this.below(4) }, () => this.of(VALUES)) };
    if (kind === 2) return { prefix: this.of(["", "a", "l", LONG, `${LONG}a`, "\u{1F600}"]) };
    if (kind === 3) return { gte: value, lt: this.of(VALUES) };
    if (kind === 4) return { gt: value };
    if (kind === 5) return { gte: value };
    if (kind === 6) return { lt: value };
    return kind === 7 ? { lte: value } : { eq: value };
  }

  filter(): InstanceFilter {
    return {
      ...(this.chance(0.5) ? { where: { [this.of(["a", "b", "d"])]: this.test() } } : {}),
      ...(this.chance(0.2) ? { attributes: { c: this.of(VALUES) } } : {}),
      ...(this.chance(0.25) ? { text: this.of(["ORDER", "i1", "42", "a", "é", LONG]) } : {}),
      ...(this.chance(0.25) ? { name: this.of(NAMES) } : {}),
      ...(this.chance(0.25) ? { status: STATUSES.filter(() => this.chance(0.5)) } : {}),
      ...(this.chance(0.15) ? { idPrefix: this.of(["i", "i1", "x"]) } : {}),
      ...(this.chance(0.15) ? { completedAfter: this.below(40) } : {}),
      ...(this.chance(0.15) ? { completedBefore: this.below(40) } : {}),
    };
  }
}

/** Creates an instance of a random kind. */
async function create(setup: Setup, id: string, draw: Draw): Promise<void> {
  const fields = { name: draw.of(NAMES), attributes: draw.attributes() };
  const status = draw.of(STATUSES);
  if (status === "pending") return void (await setup.start(id, fields));
  const keepMs = draw.chance(0.3) ? { keepMs: 1_000_000 } : {};
  const held = await setup.hold(id, fields);
  if (draw.chance(0.3)) {
    await setup.turn(held, {
      events: [eventText()],
      state: stateChange({ attributes: draw.attributes() }),
    });
  }
  if (draw.chance(0.3)) await setup.environment.advance(draw.below(3));
  if (status === "paused") await setup.commit(pauseItem(id));
  if (status === "terminated") await setup.commit(terminateItem(id));
  if (status === "completed" || status === "failed") {
    const error = status === "failed" ? failedText("failed") : null;
    const output = status === "completed" ? "1" : null;
    const change = { kind: "ended", status, output, error, ...keepMs } as const;
    await setup.turn(held, { events: [eventText()], change });
  }
}

async function recordsOf(setup: Setup, ids: readonly string[]): Promise<InstanceRecord[]> {
  const records: InstanceRecord[] = [];
  for (const id of ids) {
    const record = await setup.provider.readInstance(id);
    if (record !== null) records.push(record);
  }
  return records;
}

async function found(setup: Setup, where: Record<string, AttributeTest>): Promise<string[]> {
  return [...(await pages(setup, { filter: { where }, order: "oldest", limit: 100 }))];
}

export const search: ContractSubject = {
  subject: "search",
  cases: [
    {
      title: "random searches return what a naive filter of all instances returns, in every order",
      async run(setup) {
        const seed = 20_261_118;
        const draw = new Draw(seed);
        const ids = Array.from({ length: 60 }, (_, i) => `i${i}`);
        for (const id of ids) {
          await create(setup, id, draw);
          if (draw.chance(0.4)) await setup.environment.advance(1);
        }
        const records = await recordsOf(setup, ids);
        for (let n = 0; n < 150; n++) {
          const request = {
            filter: draw.filter(),
            orderBy: draw.of(["createdAt", "updatedAt", "completedAt"] as const),
            order: draw.of(["newest", "oldest"] as const),
            limit: draw.of([1, 4, 100]),
          };
          const expected = expectedIds(records, request);
          const what = `seed ${seed}, search ${n}: ${JSON.stringify(request)}`;
          expect(await pages(setup, request), what).toEqual(expected);
          expect(await setup.provider.countInstances(request.filter), what).toBe(expected.length);
        }
      },
    },
    {
      title: "attributes are found as they are after a turn, a restart, a fork and a deletion",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { cents: 1, note: "x" } });
        expect(await found(setup, { cents: { eq: 1 }, note: { exists: true } })).toEqual(["a"]);
        await setup.turn(held, {
          events: [eventText()],
          state: stateChange({ attributes: { cents: 2 } }),
        });
        expect(await found(setup, { cents: { eq: 1 } })).toEqual([]);
        expect(await found(setup, { note: { exists: true } })).toEqual([]);
        expect(await found(setup, { cents: { gt: 1 } })).toEqual(["a"]);
        await setup.complete(held);
        const instance = newInstance({ id: "b", attributes: { cents: 3 } });
        await setup.commit(forkItem("a", { instance }));
        expect(await found(setup, { cents: { gt: 1 } })).toEqual(["a", "b"]);
        await setup.commit(startItem({ id: "a", onConflict: "restart", attributes: { cents: 9 } }));
        expect(await found(setup, { cents: { gte: 9 } })).toEqual(["a"]);
        await setup.provider.deleteInstance({ id: "a", force: true });
        expect(await found(setup, { cents: { exists: true } })).toEqual(["b"]);
      },
    },
    {
      title: "counts by status and name follow every change, also a restart under another name",
      async run(setup) {
        const counts = async (): Promise<readonly string[]> => {
          const all = await setup.provider.countByName();
          return all
            .map((c) => `${c.name} ${c.status} ${c.instances} ${c.paused} ${c.blocked}`)
            .toSorted();
        };
        expect(await counts()).toEqual([]);
        await setup.start("a", { name: "one" });
        await setup.start("b", { name: "one" });
        const held = await setup.hold("c", { name: "two" });
        await setup.commit(pauseItem("b"));
        expect(await counts()).toEqual(["one pending 2 1 0", "two running 1 0 0"]);
        await setup.complete(held);
        await setup.provider.deleteInstance({ id: "a", force: true });
        expect(await counts()).toEqual(["one pending 1 1 0", "two completed 1 0 0"]);
        await setup.commit(startItem({ id: "c", name: "three", onConflict: "restart" }));
        expect(await counts()).toEqual(["one pending 1 1 0", "three pending 1 0 0"]);
      },
    },
    {
      title: "a cursor of another order is refused",
      async run(setup) {
        for (const id of ["a", "b", "c"]) await setup.start(id);
        const request = { filter: {}, order: "newest", limit: 1, cursor: null } as const;
        const { cursor } = await setup.provider.listInstances(request);
        const others = ["updatedAt", "completedAt"] as const;
        for (const orderBy of others) {
          const other = setup.provider.listInstances({ ...request, orderBy, cursor });
          await expect(other).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
        }
      },
    },
  ],
};
