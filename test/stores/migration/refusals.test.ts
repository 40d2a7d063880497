// What a move refuses, and the state of both stores after an interrupted move or a wrong copy.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import {
  Client,
  moveStore,
  orchestration,
  Perdure,
  planMove,
  unmarkStore,
  type Provider,
  type WriteRowsRequest,
} from "../../../src/index.ts";
import { postgres } from "../../support/postgres.ts";
import { transferOf } from "../../../src/move/move-plan.ts";
import { TRANSFER_FORMAT } from "../../../src/core/provider/transfer.ts";
import { messageChecksum } from "../../../src/postgres/read/messages.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import {
  closePool,
  giveBackSchema,
  openOnPool,
  takeSchema,
} from "../../support/postgres-stores.ts";

afterAll(closePool);

const wait = orchestration("wait", (ctx) => ctx.waitFor("go"));

async function inSqlite(): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-move-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const provider = await SqliteProvider.open(join(folder, "store.db"));
  onTestFinished(() => provider.close());
  return provider;
}

async function inPostgres(): Promise<Provider> {
  const schema = takeSchema();
  const provider = await openOnPool(schema);
  onTestFinished(async () => {
    await unmarkStore(provider); // a marked store cannot be emptied
    await provider.close();
    await giveBackSchema(schema);
  });
  return provider;
}

async function filled(open: () => Promise<Provider>, count = 3): Promise<Provider> {
  const provider = await open();
  const client = new Client(provider);
  const ids = Array.from({ length: count }, (_, n) => `i${n}`);
  await Promise.all(ids.map((id) => client.start(wait, undefined, { id })));
  return provider;
}

/** A provider that changes rows before it writes them. */
function through(
  provider: Provider,
  change: (request: WriteRowsRequest) => WriteRowsRequest,
): Provider {
  const { transfer } = provider;
  if (transfer === undefined) throw new Error("the provider does not support moves");
  const writeRows = (request: WriteRowsRequest) => transfer.writeRows(change(request));
  const changed = new Proxy(transfer, {
    get: (target, name) => {
      if (name === "writeRows") return writeRows;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  return new Proxy(provider, {
    get: (target, name) => {
      if (name === "transfer") return changed;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

describe.each([
  ["SQLite", inSqlite, "PostgreSQL", inPostgres],
  ["PostgreSQL", inPostgres, "SQLite", inSqlite],
] as const)("from %s", (_from, openSource, _to, openTarget) => {
  test("a live runtime on either store prevents a move, and no store is marked", async () => {
    const source = await filled(openSource);
    const target = await openTarget();
    for (const used of [source, target]) {
      const perdure = await Perdure.open(used, { register: [wait], runtime: { log: () => {} } });
      await expect(moveStore(source, target)).rejects.toMatchObject({ code: "STORE_IN_USE" });
      await expect(planMove(source, target)).rejects.toMatchObject({ code: "STORE_IN_USE" });
      expect([await source.transfer?.readMark(), await target.transfer?.readMark()]).toEqual([
        null,
        null,
      ]);
      await perdure.close();
    }
    expect((await moveStore(source, target)).tables[0]).toMatchObject({ rows: 3 });
  });

  test("a target that is not empty is refused and stays unchanged", async () => {
    const source = await filled(openSource);
    const target = await filled(openTarget, 1);
    await expect(moveStore(source, target)).rejects.toMatchObject({ code: "STORE_NOT_EMPTY" });
    const client = new Client(target);
    await client.raise("i0", "go", 1);
    expect(await client.count({})).toBe(1);
    expect(await source.transfer?.readMark()).toBeNull();
  });

  test("other clients cannot write to either store during a move, nor to the source afterwards", async () => {
    const source = await filled(openSource);
    const target = await openTarget();
    const refused: unknown[] = [];
    const stores = [source, target].map((store) => new Client(store));
    const watched = through(target, (request) => request);
    await moveStore(source, watched, {
      onProgress: ({ phase }) => {
        if (phase === "copy" && refused.length === 0) {
          refused.push(...stores.map((client) => client.start("x").catch((e: unknown) => e)));
        }
      },
    });
    expect(await Promise.all(refused)).toMatchObject([
      { code: "STORE_MOVED" },
      { code: "STORE_MOVED" },
    ]);
    // Reads still work; writes, events and runtimes are refused.
    const old = new Client(source);
    expect(await old.count({})).toBe(3);
    const calls = [
      () => old.raise("i0", "go", 1),
      () => old.get("i0").terminate(),
      () => Perdure.open(source),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "STORE_MOVED" });
    await expect(moveStore(source, await openTarget())).rejects.toMatchObject({
      code: "STORE_MOVED",
    });
    await new Client(target).raise("i0", "go", 1);
  });

  test("a row corrupted during the move is detected, and the target stays marked", async () => {
    const source = await filled(openSource);
    const target = await openTarget();
    const broken = through(target, (request) => {
      if (request.table.name !== "inbox") return request;
      const index = Object.keys(request.table.columns).indexOf("data");
      const rows = request.rows.map((row, n) =>
        n === 1 ? row.with(index, `${String(row[index])} `) : row,
      );
      return { ...request, rows };
    });
    const found = await moveStore(source, broken).catch((error: unknown) => error);
    expect(found).toMatchObject({ code: "COPY_MISMATCH" });
    expect(String(found)).toContain("inbox (3 rows");
    await expect(Perdure.open(target)).rejects.toMatchObject({ code: "STORE_MOVED" });
    // The same call without the fault resumes the move.
    const result = await moveStore(source, target);
    expect(result).toMatchObject({ resumed: true });
    await new Client(target).raise("i0", "go", 1);
  });

  test("a row lost during the move is detected", async () => {
    const source = await filled(openSource);
    const lossy = through(await openTarget(), (request) =>
      request.table.name === "inbox" ? { ...request, rows: request.rows.slice(1) } : request,
    );
    await expect(moveStore(source, lossy)).rejects.toThrow(/arrived 2 rows/);
  });

  test("an interrupted move resumes where it stopped, with the same result", async () => {
    const source = await filled(openSource, 250);
    const whole = await openTarget();
    const reference = await moveStore(source, whole);
    await unmarkStore(source);
    const target = await openTarget();
    const written: number[] = [];
    const counted = through(target, (request) => {
      if (request.rows.length > 0) written.push(request.rows.length);
      return request;
    });
    const controller = new AbortController();
    const stopped = moveStore(source, counted, {
      signal: controller.signal,
      onProgress: ({ done }) => void (done >= 100 && controller.abort(new Error("enough"))),
    });
    await expect(stopped).rejects.toThrow("enough");
    expect(written).toEqual([100]);
    expect((await planMove(source, target)).resumes).toBe(true);
    const result = await moveStore(source, counted);
    expect(result).toMatchObject({ resumed: true, tables: reference.tables });
    const rows = reference.tables.reduce((sum, table) => sum + table.rows, 0);
    expect(written.reduce((sum, count) => sum + count, 0)).toBe(rows); // no row twice
  });

  test("the target does not reuse numbers that the source has assigned", async () => {
    const source = await filled(openSource, 5);
    const old = new Client(source);
    await old.delete("i4", { force: true });
    await old.delete("i3", { force: true });
    const target = await openTarget();
    const { numbers } = await moveStore(source, target);
    expect(numbers).toEqual({ instances: 5, messages: 5, storeId: await source.storeId() });
    await new Client(target).start("x", undefined, { id: "new" });
    expect(await target.readInstance("new")).toMatchObject({ key: 6 });
  });

  test("of two concurrent moves at most one is refused, and the copy is complete", async () => {
    const source = await filled(openSource, 250);
    const target = await openTarget();
    const both = await Promise.allSettled([moveStore(source, target), moveStore(source, target)]);
    const refused = both.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeLessThanOrEqual(1);
    expect(refused).toMatchObject(
      refused.map(() => ({
        reason: { code: expect.stringMatching(/^STORE_(IN_USE|MOVED|NOT_EMPTY)$/) as unknown },
      })),
    );
    await moveStore(source, target).catch(() => undefined);
    expect(await new Client(target).count({})).toBe(250);
  });

  test("the mark of a store can be read at any moment of being set and removed", async () => {
    const store = transferOf(await openTarget());
    const mark = { id: "move", role: "target", state: "moving", other: "elsewhere" } as const;
    let isOver = false;
    const read = async (): Promise<void> => {
      while (!isOver) expect([undefined, "move"]).toContain((await store.readMark())?.id);
    };
    const readers = [read(), read(), read()];
    try {
      for (let round = 0; round < 30; round++) {
        await store.mark(mark);
        await store.unmark("move");
      }
    } finally {
      isOver = true;
    }
    await Promise.all(readers);
  });

  test("an unfinished copy is not resumed after its source was used again", async () => {
    const source = await filled(openSource, 250);
    const target = await openTarget();
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    await expect(
      moveStore(source, target, { signal: controller.signal, onProgress }),
    ).rejects.toThrow();
    await unmarkStore(source);
    await new Client(source).raise("i0", "go", 1);
    const result = await moveStore(source, target);
    expect(result.tables.find(({ table }) => table === "inbox")).toMatchObject({ rows: 251 });
    expect(result.resumed).toBe(false);
  });

  test("a moved store can be used or moved again, and an unfinished copy can be emptied", async () => {
    const source = await filled(openSource, 250);
    const first = await openTarget();
    const controller = new AbortController();
    const options = { signal: controller.signal, onProgress: () => controller.abort() };
    await expect(moveStore(source, first, options)).rejects.toThrow();
    await expect(moveStore(first, await openTarget())).rejects.toMatchObject({
      code: "STORE_MOVED",
    });
    const second = await openTarget();
    await expect(moveStore(source, second)).rejects.toMatchObject({ code: "STORE_MOVED" });
    await moveStore(source, second, { again: true });
    expect(await unmarkStore(first)).toMatchObject({ role: "target" });
    await new Client(first).start("x", undefined, { id: "x" });
    expect(await new Client(first).count({})).toBe(1);
    expect(await unmarkStore(first)).toBeNull();
    const third = await openTarget();
    await moveStore(source, third, { again: true });
    expect(await new Client(third).count({})).toBe(250);
  });
});

test("messages sent in users' transactions are moved into inboxes before a store moves", async () => {
  const schema = takeSchema();
  const source = await filled(() => openOnPool(schema, { notifications: false }));
  onTestFinished(async () => {
    await unmarkStore(source);
    await source.close();
    await giveBackSchema(schema);
  });
  const { query } = await postgres();
  const event = { sequence: null, kind: "event", name: "go", key: "r", data: "1" } as const;
  await query(
    `INSERT INTO ${schema}.arrivals (keep, id, request_id, name, data, checksum)
     VALUES (false, 'i1', 'r', 'go', '1', $1)`,
    [messageChecksum(event)],
  );
  const target = await inSqlite();
  await moveStore(source, target);
  const { key = 0 } = (await target.readInstance("i1")) ?? {};
  expect(await target.readInbox(key)).toMatchObject([{ kind: "start" }, { name: "go", data: "1" }]);
});

test("a store does not move to itself, nor to a store without support for moves", async () => {
  const source = await filled(inSqlite);
  await expect(moveStore(source, source)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const { transfer: _none, ...rest } = { ...source, transfer: undefined };
  const foreign = { ...rest, name: "other" } as unknown as Provider;
  await expect(moveStore(source, foreign)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const newer = new Proxy(source, {
    get: (target, name) =>
      name === "transfer" ? { format: TRANSFER_FORMAT + 1 } : Reflect.get(target, name, target),
  });
  await expect(planMove(source, newer)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("unreadable tags raise HISTORY_CORRUPT, and the target stays marked", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-move-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const source = await SqliteProvider.open(join(folder, "store.db"));
  onTestFinished(() => source.close());
  {
    using database = new DatabaseSync(join(folder, "store.db"));
    database.exec(`INSERT INTO tasks (instance, execution, sequence, available_at, priority, attempt, deaths, suspect,
      name, tags, input) VALUES (1, 1, 2, 0, 3, 1, 0, 0, 'a', '["torn', '')`);
  }
  const target = await inSqlite();
  await expect(moveStore(source, target)).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
  await expect(Perdure.open(target)).rejects.toMatchObject({ code: "STORE_MOVED" });
});
