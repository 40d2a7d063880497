// Contract of keys under concurrency: calls with one key take effect one after the other (provider.enqueue.1). What
// remains of a key after a deletion, and of a start whose reply was lost.

import { expect } from "vitest";
import type {
  CommitResult,
  EnqueueItem,
  EnqueueKey,
  Provider,
} from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, fresh, terminateItem, turnItem, completedText } from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { begin, enqueue, enqueueItem, run, startOf, unique } from "./job-steps.ts";

const DEBOUNCE: EnqueueKey = { kind: "debounce", key: "k", waitMs: 1_000, maxMs: null };
const THROTTLE: EnqueueKey = { kind: "throttle", key: "k", perMs: 1_000, trailing: false };
const TRAILING: EnqueueKey = { ...THROTTLE, trailing: true };
const CALLS = 8;

/** Commits each item alone, half of them through another provider, at the same time. */
async function race(setup: Setup, items: readonly EnqueueItem[]): Promise<readonly CommitResult[]> {
  const other = await setup.another();
  return Promise.all(items.map((item, n) => patiently(n % 2 === 0 ? setup.provider : other, item)));
}

/** Sends the item again while a lock is held elsewhere, as the committer does. */
async function patiently(provider: Provider, item: EnqueueItem): Promise<CommitResult> {
  for (;;) {
    const [result] = await provider.commit([item]);
    if (result === undefined) throw new Error("The commit returned no result.");
    if (result.kind !== "busy") return result;
  }
}

function itemsOf(key: EnqueueKey, prefix = "r"): EnqueueItem[] {
  return Array.from({ length: CALLS }, (_, n) =>
    enqueueItem(`${prefix}${n}`, key, { input: `${n}` }),
  );
}

async function existingIds(setup: Setup, items: readonly EnqueueItem[]): Promise<string[]> {
  const records = await Promise.all(
    items.map(({ start }) => setup.provider.readInstance(start.id)),
  );
  return records.flatMap((record) => record?.id ?? []);
}

const count = (results: readonly CommitResult[], kind: CommitResult["kind"]): number =>
  results.filter((result) => result.kind === kind).length;

export const keyRaces: ContractSubject = {
  subject: "keys of starts",
  cases: [
    {
      title: "of concurrent unique starts one is inserted, and the others return it",
      needs: ["reopen"],
      async run(setup) {
        const items = itemsOf(unique());
        const results = await race(setup, items);
        expect([count(results, "started"), count(results, "existing")]).toEqual([1, CALLS - 1]);
        const ids = await existingIds(setup, items);
        expect(ids).toHaveLength(1);
        for (const result of results) expect(result).toMatchObject({ id: ids[0] });
      },
    },
    {
      title: "of concurrent unique starts with fail one is inserted, and the others are refused",
      needs: ["reopen"],
      async run(setup) {
        const results = await race(setup, itemsOf(unique("fail")));
        expect([count(results, "started"), count(results, "refused")]).toEqual([1, CALLS - 1]);
      },
    },
    {
      title: "concurrent starts with replace restart one instance, each in another execution",
      needs: ["reopen"],
      async run(setup) {
        const items = itemsOf(unique("replace"));
        const results = await race(setup, items);
        const executions = results.map((result) => ("execution" in result ? result.execution : 0));
        expect(executions.toSorted((a, b) => a - b)).toEqual(items.map((_, n) => n + 1));
        const last = items[executions.indexOf(CALLS)];
        const [id = ""] = await existingIds(setup, items);
        const { input } = await startOf(setup, id);
        expect(input).toBe(JSON.parse(last?.start.started ?? "{}").input);
      },
    },
    {
      title: "concurrent replaces of a running instance leave one that waits, and it runs once",
      needs: ["reopen"],
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique("replace")), "started");
        const held = await run(setup, "a");
        const items = itemsOf(unique("replace"));
        const results = await race(setup, items);
        expect([count(results, "started"), count(results, "replaced")]).toEqual([1, CALLS - 1]);
        const [id = "", ...more] = await existingIds(setup, items);
        expect(more).toEqual([]);
        await setup.leaseNothing();
        await setup.complete(held);
        await begin(setup, id);
        await setup.leaseNothing();
      },
    },
    {
      title: "an end that races with replaces never leaves an instance that waits for an ended one",
      needs: ["reopen"],
      async run(setup) {
        for (let round = 0; round < 4; round++) {
          const name = `a${round}`;
          const key = unique("replace", name);
          await enqueue(setup, enqueueItem(name, key), "started");
          const held = await run(setup, name);
          const output = "null";
          const end = turnItem(held, {
            events: [completedText(output)],
            change: { kind: "ended", status: "completed", output, error: null },
          });
          const items = itemsOf(key, `r${round}.`);
          const ended = setup.drive(
            (async () => {
              for (;;) {
                const [result] = await setup.provider.commit([end]);
                if (result?.kind !== "busy") return result;
              }
            })(),
          );
          await Promise.all([race(setup, items), ended]);
          expect(await setup.read(name)).toMatchObject({ status: "completed" });
          const ids = await existingIds(setup, items);
          expect(ids).toHaveLength(1);
          const next = await setup.leaseOnly(ids[0] ?? "", ALPHA);
          await setup.commit(terminateItem(next.id));
        }
      },
    },
    {
      title:
        "of concurrent debounced starts one is inserted; its input is that of one of the calls",
      needs: ["reopen"],
      async run(setup) {
        const items = itemsOf(DEBOUNCE);
        const results = await race(setup, items);
        expect([count(results, "started"), count(results, "existing")]).toEqual([1, CALLS - 1]);
        const [id = "", ...more] = await existingIds(setup, items);
        expect(more).toEqual([]);
        const { runId } = await setup.read(id);
        expect(items.map(({ start }) => start.runId)).toContain(runId);
        await startOf(setup, id); // its input belongs to its run id
      },
    },
    {
      title: "of concurrent throttled starts one is inserted, and with trailing one more",
      needs: ["reopen"],
      async run(setup) {
        const results = await race(setup, itemsOf(THROTTLE));
        expect([count(results, "started"), count(results, "existing")]).toEqual([1, CALLS - 1]);
        const more = await race(setup, itemsOf(TRAILING, "t"));
        expect([count(more, "started"), count(more, "existing")]).toEqual([1, CALLS - 1]);
      },
    },
    {
      title: "groups with the same keys in another order do not block each other",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const keys = ["k1", "k2", "k3", "k4"];
        const groupOf = (prefix: string, order: readonly string[]): EnqueueItem[] =>
          order.map((key) => enqueueItem(`${prefix}-${key}`, unique("replace", key)));
        for (let round = 0; round < 5; round++) {
          const [first, second] = await Promise.all([
            setup.provider.commit(groupOf(`a${round}`, keys)),
            other.commit(groupOf(`b${round}`, keys.toReversed())),
          ]);
          for (const { kind } of [...first, ...second]) {
            expect(kind).toBe(round === 0 && kind === "started" ? "started" : "replaced");
          }
        }
      },
    },
    {
      title: "items of one group with one key take effect in their order",
      async run(setup) {
        const results = await setup.provider.commit([
          enqueueItem("a", unique("fail")),
          enqueueItem("b", unique()),
          enqueueItem("c", unique("replace"), { input: "c" }),
          enqueueItem("d", unique("fail")),
          enqueueItem("e", DEBOUNCE),
          enqueueItem("f", DEBOUNCE, { input: "f" }),
          enqueueItem("g", TRAILING),
          enqueueItem("h", TRAILING),
          enqueueItem("i", TRAILING, { input: "i" }),
        ]);
        expect(results).toMatchObject([
          { kind: "started", id: "a", execution: 1 },
          { kind: "existing", id: "a", execution: 1 },
          { kind: "replaced", id: "a", execution: 2 },
          { kind: "refused", id: "a" },
          { kind: "started", id: "e" },
          { kind: "existing", id: "e" },
          { kind: "started", id: "g" },
          { kind: "started", id: "h" },
          { kind: "existing", id: "h" },
        ]);
        const inputs = await Promise.all(["a", "e", "h"].map((id) => startOf(setup, id)));
        expect(inputs.map(({ input }) => input)).toEqual(["c", "f", "i"]);
      },
    },
    {
      title: "the deletion of an ended instance frees its keys",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique("fail")), "started");
        await setup.complete(await run(setup, "a"));
        await enqueue(setup, enqueueItem("d", DEBOUNCE), "started");
        await setup.commit(terminateItem("d"));
        await setup.environment.advance(1);
        for (const status of ["completed", "terminated"] as const) {
          const before = setup.environment.now();
          const request = { status, completedBefore: before, limit: 10, cursor: null };
          expect(await setup.provider.deleteEnded(request)).toMatchObject({ instances: 1 });
        }
        await enqueue(setup, enqueueItem("a", unique("fail")), "started");
        await enqueue(setup, enqueueItem("d", DEBOUNCE), "started");
      },
    },
    {
      title: "a keyed start that was not written settles as null",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique()), "started");
        for (const key of [unique(), unique("replace"), unique("fail"), DEBOUNCE, TRAILING]) {
          expect(await setup.provider.settle(enqueueItem("b", key))).toBeNull();
        }
      },
    },
    {
      title:
        "a keyed start that inserted an instance settles with it, although later calls changed it",
      async run(setup) {
        for (const key of [unique("replace"), DEBOUNCE, THROTTLE]) {
          const id = `${key.kind}-1`;
          const item = enqueueItem(id, key);
          const result = await setup.commit(item);
          expect(await setup.provider.settle(item)).toEqual(result);
          await setup.commit(enqueueItem(`${key.kind}-2`, key));
          await setup.commit(enqueueItem(`${key.kind}-3`, key));
          expect(await setup.provider.settle(item)).toEqual(result);
        }
      },
    },
    {
      title: "a keyed start that replaced another one settles with the instance of its key",
      async run(setup) {
        for (const key of [unique("replace"), DEBOUNCE]) {
          await enqueue(setup, enqueueItem(`${key.kind}-1`, key), "started");
          const item = enqueueItem(`${key.kind}-2`, key);
          const result = await setup.commit(item);
          expect(result).toMatchObject({ id: `${key.kind}-1` });
          expect(await setup.provider.settle(item)).toEqual(result);
        }
        await enqueue(setup, enqueueItem("t1", TRAILING), "started");
        await enqueue(setup, enqueueItem("t2", TRAILING), "started");
        const item = enqueueItem("t3", TRAILING);
        const result = await enqueue(setup, item, "existing");
        expect(await setup.provider.settle(item)).toEqual(result);
      },
    },
    {
      title: "a waiting instance settles as started, and its replacement as replaced",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique("replace")), "started");
        await begin(setup, "a", { lease: { owner: ALPHA, token: fresh() } });
        const first = enqueueItem("b", unique("replace"));
        const started = await enqueue(setup, first, "started");
        const second = enqueueItem("c", unique("replace"));
        const replaced = await enqueue(setup, second, "replaced");
        expect(await setup.provider.settle(first)).toEqual(started);
        expect(await setup.provider.settle(second)).toEqual(replaced);
      },
    },
  ],
};
