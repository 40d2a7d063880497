// Connections that break, are refused or are read-only: callers get STORE_UNAVAILABLE, and work continues afterwards.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { Committer } from "../../../src/core/commit/committer.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStore, ownSchema, startRuntime, until, urlWith } from "./support.ts";

/** A separate role, and the address to connect with it. */
async function ownRole(options = ""): Promise<{ readonly role: string; readonly target: string }> {
  const { query } = await postgres();
  const role = `role_${Math.random().toString(36).slice(2)}`;
  await query(`CREATE ROLE ${role} LOGIN SUPERUSER ${options}`);
  onTestFinished(async () => {
    await query(`DROP OWNED BY ${role} CASCADE`);
    await query(`DROP ROLE ${role}`);
  });
  return { role, target: await urlWith((url) => (url.username = role)) };
}

/** Ends every connection of a role, as a restart of the server would. */
async function terminateAll(role: string): Promise<number> {
  const { query } = await postgres();
  const rows = await query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
    [role],
  );
  return rows.length;
}

describe("connections that the server ends", () => {
  test("while they are idle cause no unhandled error and are replaced", async () => {
    const { role, target } = await ownRole();
    const store = await openStore({ target });
    await Promise.all(
      Array.from({ length: 4 }, (_, i) => store.commit([startItem({ id: `${i}` })])),
    );
    expect(await terminateAll(role)).toBeGreaterThan(1);
    await until("the store answers", () =>
      store.countInstances({}).then(
        (count) => count === 4,
        () => false,
      ),
    );
  });

  test("together with ReadyForQuery cause no unhandled error", async () => {
    const { url, arm } = await endingProxy();
    const store = await openStore({ target: url, poolSize: 1, notifications: false });
    await store.commit([startItem({ id: "a" })]);
    const ended = arm();
    const codes = new Set<unknown>();
    await until("the store answers", () =>
      store.readInstance("a").then(
        (found) => found?.id === "a",
        (error: { code?: unknown }) => !codes.add(error.code),
      ),
    );
    await ended;
    expect([...codes]).toEqual(["STORE_UNAVAILABLE"]);
  });

  test("during work lose nothing: every instance completes, and every activity runs", async () => {
    const { role, target } = await ownRole();
    const store = await openStore({ target });
    const runs = new Map<string, number>();
    const add = activity("add", async (n: number, { idempotencyKey }) => {
      runs.set(idempotencyKey, (runs.get(idempotencyKey) ?? 0) + 1);
      return n + 1;
    });
    const life = orchestration("life", async (ctx, n: number) => {
      let value = n;
      for (let i = 0; i < 10; i++) value = await ctx.run(add, value);
      return value;
    });
    const { client } = await startRuntime(store, [add, life]);
    const ids = Array.from({ length: 30 }, (_, i) => i);
    const results = Promise.all(
      ids.map(async (n) => (await client.start(life, n, { id: `life-${n}` })).result()),
    );
    for (let round = 0; round < 5; round++) {
      await until("some activities have run", () => runs.size > round * 40);
      await terminateAll(role);
    }
    expect(await results).toEqual(ids.map((n) => n + 10));
    expect(runs.size).toBe(300);
  });
});

describe("a server that accepts no more connections", () => {
  test("raises STORE_UNAVAILABLE for callers, and the committer retries", async () => {
    const { role, target } = await ownRole();
    const { query } = await postgres();
    const store = await openStore({ target, notifications: false });
    await query(`ALTER ROLE ${role} NOSUPERUSER CONNECTION LIMIT 0`); // the limit does not apply to superusers
    await terminateAll(role);
    await until("connections are refused", () =>
      store.listRuntimes().then(
        () => false,
        (error: { code?: unknown }) => error.code === "STORE_UNAVAILABLE",
      ),
    );
    const started = Committer.of(store).submit(startItem({ id: "a" }));
    await expect(store.readInstance("a")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await query(`ALTER ROLE ${role} SUPERUSER CONNECTION LIMIT -1`);
    expect(await started).toMatchObject({ kind: "started" });
  });
});

describe("a read-only server", () => {
  test("refuses writes with STORE_UNAVAILABLE, answers reads, and accepts writes when it is writable again", async () => {
    const { role, target } = await ownRole();
    const { query } = await postgres();
    const store = await openStore({ target });
    await store.commit([startItem({ id: "a" })]);
    await query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
    await terminateAll(role);
    await until("the server is read-only", () =>
      store.commit([sendItem({ id: "a" })]).then(
        () => false,
        (error: Error) => error.message.includes("read-only"),
      ),
    );
    await expect(store.commit([sendItem({ id: "a" })])).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(await store.readInstance("a")).toMatchObject({ id: "a" });
    const sent = Committer.of(store).submit(sendItem({ id: "a" }));
    await query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
    await terminateAll(role);
    expect(await sent).toEqual({ kind: "done" });
  });

  test("raises STORE_READ_ONLY at open", async () => {
    const options = "-c default_transaction_read_only=on";
    const target = await urlWith((url) => url.searchParams.set("options", options));
    const opening = PostgresProvider.open(target, { schema: ownSchema() });
    await expect(opening).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
    await expect(opening).rejects.toThrow(/default_transaction_read_only/);
  });
});

describe("custom defaults of a database", () => {
  test.each(["repeatable read", "serializable"])(
    "default_transaction_isolation %s works",
    async (level) => {
      const options = `-c default_transaction_isolation=${level.replaceAll(" ", "\\ ")}`;
      const target = await urlWith((url) => url.searchParams.set("options", options));
      const schema = ownSchema();
      const [one, two] = [await openStore({ target, schema }), await openStore({ target, schema })];
      await one.commit([startItem({ id: "a" })]);
      // The committer repeats an item whose row is locked for too long.
      const committers = [Committer.of(one), Committer.of(two)] as const;
      const sends = Array.from({ length: 20 }, (_, i) =>
        committers[i % 2 === 0 ? 0 : 1].submit(sendItem({ id: "a", data: `${i}` })),
      );
      expect((await Promise.all(sends)).map(({ kind }) => kind)).toEqual(
        Array<string>(20).fill("done"),
      );
    },
  );
});

describe("a connection that does not answer", () => {
  test("is abandoned after answerMs, and the call fails with STORE_UNAVAILABLE", async () => {
    const schema = ownSchema();
    const store = await openStore({ schema, answerMs: 300 });
    await store.commit([startItem({ id: "a" })]);
    const outside = new pg.Client((await postgres()).url);
    await outside.connect();
    onTestFinished(() => outside.end());
    await outside.query(`BEGIN; LOCK TABLE ${schema}.runtimes IN ACCESS EXCLUSIVE MODE`);
    await expect(store.listRuntimes()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await outside.query("ROLLBACK");
    expect(await store.listRuntimes()).toEqual([]);
  });
});

test("calls of a closed store fail, and its connections are closed", async () => {
  const { role, target } = await ownRole();
  const store = await openStore({ target });
  await store.commit([startItem({ id: "a" })]);
  await store.close();
  await expect(store.readInstance("a")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(store.commit([startItem({ id: "b" })])).rejects.toThrow(/closed/);
  await until("no connection is left", async () => {
    const { query } = await postgres();
    const rows = await query("SELECT 1 FROM pg_stat_activity WHERE usename = $1", [role]);
    return rows.length === 0;
  });
});

/** When armed, ends all connections, and sends the next new connection a FATAL error together with ReadyForQuery. */
async function endingProxy(): Promise<{
  readonly url: string;
  /** Resolves when the proxy has ended a new connection. */
  readonly arm: () => Promise<void>;
}> {
  const target = new URL((await postgres()).url);
  const open = new Set<Socket>();
  let armed: (() => void) | null = null;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    let isNew = true;
    client.pipe(upstream);
    upstream.on("close", () => client.destroy());
    upstream.on("data", (data) => {
      if (!isNew || !data.includes(READY)) return void client.write(data);
      isNew = false;
      if (armed === null) return void client.write(data);
      armed();
      armed = null;
      client.end(Buffer.concat([data, FATAL]));
      upstream.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endAll = (): void => open.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    server.close();
    endAll();
  });
  const { port } = server.address() as AddressInfo;
  const arm = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    armed = resolve;
    endAll();
    return promise;
  };
  return { url: await urlWith((url) => (url.port = String(port))), arm };
}

/** ReadyForQuery, outside a transaction. */
const READY = Buffer.from("Z\0\0\0\x05I", "latin1");
/** ErrorResponse: FATAL 57P01. */
const FATAL = errorResponse("SFATAL\0VFATAL\0C57P01\0Mended by the test\0\0");

function errorResponse(fields: string): Buffer {
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, Buffer.from(fields, "latin1")]);
}
