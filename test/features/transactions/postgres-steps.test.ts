// ctx.tx on PostgreSQL: errors of the server, the network and the user's code in its transaction (semantics 33).

import type pg from "pg";
import { describe, expect, test } from "vitest";
import { orchestration, StepError } from "../../../src/index.ts";
import type { StepOutcomeItem } from "../../../src/core/provider/commit.ts";
import type { PostgresProvider } from "../../../src/postgres/index.ts";
import {
  ALPHA,
  eventText,
  fresh,
  registration,
  startItem,
  turnItem,
  type Held,
} from "../../../src/testing/conformance/fixture.ts";
import { cuttingProxy, type Cut } from "../../stores/postgres/cutting-proxy.ts";
import { postgresShop, type PostgresShop } from "./shops.ts";

const TIMEOUT = { timeout: "20s" } as const;
let shop: PostgresShop;

describe("a transient transaction error is retried without counting an attempt", () => {
  test.each<[string, string, boolean]>([
    ["a serialization failure", "40001", false],
    ["a deadlock", "40P01", false],
    ["a deadlock that the function ignores", "40P01", true],
  ])("%s", async (_, code, swallowed) => {
    let runs = 0;
    const save = orchestration("save", async (ctx) => {
      await ctx.tx("insert", async (tx: pg.PoolClient) => {
        await shop.insert(tx, "row");
        if (++runs > 1) return;
        const failing = tx.query(
          `DO $$ BEGIN RAISE EXCEPTION 'retry' USING ERRCODE = '${code}'; END $$`,
        );
        await (swallowed ? failing.catch(() => undefined) : failing);
      });
    });
    shop = await postgresShop({ register: [save], runtime: { shadowReplay: "never" } });
    await (await shop.client.start(save)).result(TIMEOUT);
    expect(runs).toBe(2);
    expect(await shop.rows()).toEqual(["row"]);
  });

  test("two transactions in a real deadlock both commit", async () => {
    const crossing = orchestration("crossing", async (ctx, [first, second]: [string, string]) => {
      await ctx.tx("both", async (tx: pg.PoolClient) => {
        const update = `UPDATE ${shop.schema}.orders SET note = coalesce(note, '') || 'x' WHERE id = $1`;
        await tx.query(update, [first]);
        await tx.query("SELECT pg_sleep(0.2)"); // until the other transaction has locked its first row
        await tx.query(update, [second]);
      });
    });
    shop = await postgresShop({ register: [crossing], runtime: { shadowReplay: "never" } });
    const user = await shop.begin();
    for (const id of ["a", "b"]) await user.insert(id);
    await user.commit();
    const { client } = shop;
    const handles = [
      await client.start(crossing, ["a", "b"]),
      await client.start(crossing, ["b", "a"]),
    ];
    for (const handle of handles) await handle.result(TIMEOUT);
    const { rows } = await (await shop.connect()).query(`SELECT note FROM ${shop.schema}.orders`);
    expect(rows).toEqual([{ note: "xx" }, { note: "xx" }]);
  });
});

describe("an error of the function's statements fails the step", () => {
  const failing = (fn: (tx: pg.PoolClient) => Promise<unknown>) =>
    orchestration("failing", async (ctx) => {
      try {
        await ctx.tx("fails", fn);
      } catch (error) {
        return error instanceof StepError ? error.message : error;
      }
      return "no error";
    });
  const twice = async (tx: pg.PoolClient): Promise<void> => {
    for (let n = 0; n < 2; n++) await shop.insert(tx, "same");
  };

  const idle = async (tx: pg.PoolClient): Promise<void> => {
    await shop.insert(tx, "x");
    const ended = new Promise((resolve) => tx.once("end", resolve));
    await tx.query("SET LOCAL idle_in_transaction_session_timeout = '50ms'");
    await ended;
  };

  test.each<[string, (tx: pg.PoolClient) => Promise<unknown>, string]>([
    ["a broken constraint", twice, "duplicate key"],
    [
      "a broken constraint that the function ignores",
      (tx) => twice(tx).catch(() => 1),
      "ignored the error",
    ],
    [
      "a deferred constraint that COMMIT checks",
      async (tx) => {
        await tx.query(
          `CREATE TEMPORARY TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED) ON COMMIT DROP`,
        );
        await tx.query("INSERT INTO late VALUES (1), (1)");
        await shop.insert(tx, "x");
      },
      "cannot be committed",
    ],
    [
      "COMMIT and BEGIN inside the function",
      async (tx) => void (await tx.query("COMMIT; BEGIN")),
      "ended its transaction",
    ],
    [
      "a statement without an await",
      async (tx) => void tx.query("SELECT 1 / 0").catch(() => undefined),
      "division by zero",
    ],
    ["waiting for longer than the role's timeout", idle, "took too long"],
    [
      "a statement after the role's timeout",
      async (tx) => {
        await idle(tx);
        await tx.query("SELECT 1");
      },
      "took too long",
    ],
    ["releasing the connection", async (tx) => tx.release(), "belongs to Perdure"],
  ])("%s", async (_, fn, why) => {
    const failed = failing(fn);
    shop = await postgresShop({ register: [failed], runtime: { shadowReplay: "never" } });
    expect(await (await shop.client.start(failed)).result(TIMEOUT)).toContain(why);
    expect(await shop.rows()).toEqual([]);
  });
});

test("the connection cannot be used after the function has returned", async () => {
  let kept: pg.PoolClient | null = null;
  const keeps = orchestration("keeps", async (ctx) => {
    await ctx.tx("keeps", async (tx: pg.PoolClient) => {
      await shop.insert(tx, "1");
      kept = tx;
    });
  });
  shop = await postgresShop({ register: [keeps] });
  await (await shop.client.start(keeps)).result(TIMEOUT);
  const late = (kept as pg.PoolClient | null)?.query("SELECT 1");
  await expect(late).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("functions that use all transaction connections and wait for an instance do not block the engine", async () => {
  const echo = orchestration("echo", async (_, value: number) => value);
  const asks = orchestration("asks", async (ctx, n: number) =>
    ctx.tx("asks", async (tx: pg.PoolClient) => {
      await shop.insert(tx, `${n}`);
      const handle = await shop.client.start(echo, n, {
        id: `echo-${n}`,
        onConflict: "useExisting",
      });
      return handle.result();
    }),
  );
  shop = await postgresShop({
    register: [echo, asks],
    runtime: { shadowReplay: "never" },
    poolSize: 2,
    transactionPoolSize: 2,
  });
  const all = Array.from({ length: 12 }, (_, n) => n);
  const handles = await Promise.all(all.map((n) => shop.client.start(asks, n)));
  expect(await Promise.all(handles.map((handle) => handle.result(TIMEOUT)))).toEqual(all);
  expect(await shop.rows()).toHaveLength(all.length);
});

describe("a COMMIT with an unknown outcome", () => {
  const ISOLATION = ["READ COMMITTED", "REPEATABLE READ"] as const;
  test.each(
    (["before", "after", "late"] as const).flatMap((cut) =>
      ISOLATION.map((isolation): [Cut, string] => [cut, isolation]),
    ),
  )("writes the rows once if the connection is lost (%s), at %s", async (cut, isolation) => {
    const proxy = await cuttingProxy();
    let runs = 0;
    const save = orchestration("save", async (ctx) => {
      return ctx.tx("insert", async (tx: pg.PoolClient) => {
        await tx.query(`SET TRANSACTION ISOLATION LEVEL ${isolation}`);
        await shop.insert(tx, `row-${++runs}`);
        if (runs === 1) void proxy.lose(cut);
        return runs;
      });
    });
    shop = await postgresShop({
      register: [save],
      runtime: { shadowReplay: "never" },
      through: proxy.url,
    });
    const result = await (await shop.client.start(save)).result(TIMEOUT);
    if (cut === "late") expect(await proxy.deliverLate()).toMatch(/barred|could not serialize/);
    expect(result).toBe(cut === "after" ? 1 : 2);
    expect(await shop.rows()).toEqual([`row-${result}`]);
  });

  test.each(ISOLATION)(
    "is not written any more after settle reported it as lost, at %s (I14)",
    async (level) => {
      const proxy = await cuttingProxy();
      const { provider, insert, exec, rows } = await postgresShop({ through: proxy.url });
      const item = outcomeOf(await hold(provider));
      const transacted = provider.transact(async (tx) => {
        await exec(tx, `SET TRANSACTION ISOLATION LEVEL ${level}`);
        await insert(tx, "row");
        void proxy.lose("late");
        return item;
      });
      await expect(transacted).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(await provider.settle(item)).toBeNull();
      expect(await proxy.deliverLate()).toMatch(/barred|could not serialize/);
      expect(await rows()).toEqual([]);
      expect(await provider.readInbox(item.key)).toMatchObject([{ kind: "start" }]);
    },
  );

  test("is settled as done although a turn has consumed the outcome since (I14)", async () => {
    const proxy = await cuttingProxy();
    const { provider, insert, rows } = await postgresShop({ through: proxy.url });
    const held = await hold(provider);
    const item = outcomeOf(held);
    const { key, outcome } = item;
    const transacted = provider.transact(async (tx) => {
      await insert(tx, "row");
      void proxy.lose("after");
      return item;
    });
    await expect(transacted).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    const messages = await provider.readInbox(key);
    const turn = turnItem(held, {
      events: [eventText(), outcome],
      consumed: messages.map(({ id }) => id),
    });
    expect(await provider.commit([turn])).toMatchObject([{ kind: "committed" }]);
    expect(await provider.settle(item)).toEqual({ kind: "done" });
    expect(await provider.settle({ ...item, sequence: 3 })).toBeNull();
    expect(await rows()).toEqual(["row"]);
  });
});

async function hold(provider: PostgresProvider): Promise<Held> {
  await provider.registerRuntime(registration({ id: ALPHA }));
  const token = fresh();
  const item = startItem({ id: "a", lease: { owner: ALPHA, token } });
  const [result] = await provider.commit([item]);
  if (result?.kind !== "started") throw new Error("the instance was not started");
  return { id: "a", runId: item.runId, key: result.key, execution: 1, token, lastEvent: 0 };
}

function outcomeOf({ key, token, execution }: Held): StepOutcomeItem {
  const outcome = '{"kind":"StepCompleted","scheduled":2,"output":"1","attempts":1}';
  return { kind: "stepOutcome", key, token, execution, sequence: 2, outcome };
}
