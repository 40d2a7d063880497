// Events for instances that do not exist yet: how long they are kept, and what happens when they expire
// (semantics 18a).

import { expect, test } from "vitest";
import { checkRows } from "../../../src/cli/doctor/rows.ts";
import { Client, orchestration, Perdure, type Codec, defaultCodec } from "../../../src/index.ts";
import {
  collectLogs,
  startRuntime,
  virtualStore,
  virtualWorld,
} from "../../faults/trouble/support.ts";
import { freshStore } from "../../support/test-store.ts";
import { collecting } from "../../features/telemetry/support.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const KEEP = { ifMissing: "keep" } as const;
const RARE_POLLS = { beatMs: 30_000, pollIntervalMs: 30_000, staleMs: 90_000, stallMs: 90_000 };
const waits = orchestration("waits", async (ctx) => ctx.waitFor("go"));

test("an event is kept for seven days, as long as its sender says, or as long as the client's option says", async () => {
  const { provider, environment, client } = await virtualStore();
  const now = environment.now();
  const patient = new Client(provider, { keepFor: "30d" });
  await client.raise("default", "go", 1, KEEP);
  await client.raise("own", "go", 1, { ...KEEP, keepFor: "2h" });
  await client.get("handle").raise("go", 1, { ...KEEP, keepFor: 3 * HOUR_MS });
  await patient.raise("client", "go", 1, KEEP);
  await patient.raise("both", "go", 1, { ...KEEP, keepFor: "1d" });
  const { items } = await client.kept();
  expect(items.map(({ id, expiresAt }) => [id, expiresAt.getTime() - now])).toEqual([
    ["default", 7 * DAY_MS],
    ["own", 2 * HOUR_MS],
    ["handle", 3 * HOUR_MS],
    ["client", 30 * DAY_MS],
    ["both", DAY_MS],
  ]);
});

test("the runtime option keepFor is the default of the clients of Perdure and of activities", async () => {
  const provider = await freshStore();
  await using perdure = await Perdure.open(provider, {
    autoStart: false,
    runtime: { keepFor: "1h", log: () => undefined },
  });
  await perdure.client.raise("a", "go", 1, KEEP);
  const [kept] = (await perdure.client.kept()).items;
  expect(kept && kept.expiresAt.getTime() - kept.createdAt.getTime()).toBe(HOUR_MS);
});

test("an invalid keepFor is refused before anything is written", async () => {
  const { provider, client } = await virtualStore();
  const refused = (options: object) =>
    client.raise("a", "go", 1, options).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  expect(await refused({ keepFor: "1h" })).toBe(
    'keepFor ("1h") has a meaning only with ifMissing: "keep"; omit it, or set ifMissing to "keep".',
  );
  expect(await refused({ ifMissing: "fail", keepFor: "1h" })).toContain("only with ifMissing");
  expect(await refused({ ...KEEP, keepFor: 0 })).toBe("keepFor must be greater than zero; got 0.");
  expect(await refused({ ...KEEP, keepFor: "3654d" })).toBe(
    'keepFor must be at most 10 years ("3653d"); got "3654d".',
  );
  expect(await refused({ ...KEEP, keepFor: "soon" })).toContain("keepFor must be a duration");
  expect(() => new Client(provider, { keepFor: "0s" })).toThrow("greater than zero");
  const wrong = Perdure.open(provider, { runtime: { keepFor: -1 } });
  await expect(wrong).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect((await client.kept()).items).toEqual([]);
});

test("an expired event is not delivered, is logged once by one of the runtimes, and stays listed for seven days", async () => {
  const { provider, environment, client } = await virtualStore();
  const logs = collectLogs();
  const options = { ...RARE_POLLS, log: logs.sink };
  const runtimes = [
    await startRuntime(provider, [waits], options),
    await startRuntime(provider, [waits], options),
  ];
  const createdAt = new Date(environment.now());
  await client.raise("late", "go", { n: 1 }, { ...KEEP, keepFor: "2h", requestId: "r" });
  await environment.advance(2 * HOUR_MS - MINUTE_MS);
  const listed = { id: "late", event: "go", requestId: "r", createdAt };
  const expiresAt = new Date(createdAt.getTime() + 2 * HOUR_MS);
  expect((await client.kept()).items).toEqual([
    { ...listed, expiresAt, data: { n: 1 }, expired: false },
  ]);
  expect(logs.about("expired")).toEqual([]);
  await environment.advance(3 * MINUTE_MS);
  expect((await client.kept()).items).toEqual([{ ...listed, expiresAt, expired: true }]);
  const lines = logs.about("expired");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    level: "warn",
    message: expect.stringMatching(
      /^event "go" for instance "late" expired: it was raised 2h( \d+m)? ago with keepFor 2h, and no instance with this id was started; start the instance earlier, or raise the event with a longer keepFor$/,
    ) as string,
    fields: { instance: "late", event: "go" },
  });
  await client.start(waits, undefined, { id: "late" });
  await environment.advance(MINUTE_MS);
  expect(await client.get("late").describe()).toMatchObject({ status: "running" });
  expect((await client.get("late").unread()).items).toEqual([]);
  for (const runtime of runtimes) await runtime.shutdown({ graceMs: 0 });
  await environment.advance(7 * DAY_MS - 10 * MINUTE_MS);
  await startRuntime(provider, [waits], options);
  await environment.advance(2 * MINUTE_MS);
  expect((await client.kept()).items).toHaveLength(1);
  await environment.advance(10 * MINUTE_MS);
  expect((await client.kept()).items).toEqual([]);
  expect(logs.about("expired")).toHaveLength(1);
});

test("events that expired while no runtime ran are logged when one starts, however many", async () => {
  const { provider, environment, client } = await virtualStore();
  for (let n = 0; n < 250; n++) {
    await client.raise(`late ${n}`, "go", n, { ...KEEP, keepFor: "1h" });
  }
  await environment.advance(30 * DAY_MS);
  expect((await client.kept({ limit: 1_000 })).items).toHaveLength(250);
  const logs = collectLogs();
  await startRuntime(provider, [waits], { ...RARE_POLLS, log: logs.sink });
  await environment.advance(2 * MINUTE_MS);
  expect(logs.about("expired")).toHaveLength(250);
  expect((await client.kept({ limit: 1_000 })).items.every(({ expired }) => expired)).toBe(true);
  const message = expect.stringContaining("rows match their checksums") as string;
  expect(await checkRows(provider)).toMatchObject([{ level: "ok", message }]);
});

test("the metric perdure.messages.expired counts expired events by name", async () => {
  const { telemetry, metrics } = collecting();
  const { client, environment } = await virtualWorld([waits], { ...RARE_POLLS, telemetry });
  for (const id of ["a", "b"]) await client.raise(id, "go", 1, { ...KEEP, keepFor: "1h" });
  await client.raise("a", "stop", 1, { ...KEEP, keepFor: "1d" });
  expect(await client.metrics()).toMatchObject({ keptMessages: 3, expiredMessages: 0 });
  await environment.advance(HOUR_MS + 2 * MINUTE_MS);
  expect(await client.metrics()).toMatchObject({ keptMessages: 1, expiredMessages: 2 });
  const found = Object.entries(await metrics()).filter(([name]) => name.includes("expired{"));
  expect(found).toHaveLength(1);
  expect(found[0]?.[0]).toContain("go");
});

test("an event that was raised again after its expiry is delivered", async () => {
  const { client, environment } = await virtualWorld([waits], RARE_POLLS);
  const options = { ...KEEP, keepFor: "1h", requestId: "r" } as const;
  await client.raise("a", "go", "first", options);
  await environment.advance(HOUR_MS + 2 * MINUTE_MS);
  await client.raise("a", "go", "again", options);
  await client.raise("a", "go", "ignored", options);
  expect((await client.kept()).items).toMatchObject([{ data: "again", expired: false }]);
  const handle = await client.start(waits, undefined, { id: "a" });
  await environment.advance(1_000);
  expect(await handle.result()).toBe("again");
  expect((await handle.unread()).items).toEqual([]);
});

test("the list is paged, oldest first, and filtered by id", async () => {
  const { client } = await virtualStore();
  for (const id of ["a", "b", "a", "b", "a"]) await client.raise(id, "go", id, KEEP);
  const first = await client.kept({ limit: 3 });
  expect(first.items.map(({ id }) => id)).toEqual(["a", "b", "a"]);
  const second = await client.kept({ limit: 3, cursor: first.cursor ?? "" });
  expect(second.items.map(({ id }) => id)).toEqual(["b", "a"]);
  expect(second.cursor).toBeUndefined();
  expect((await client.kept({ id: "b" })).items.map(({ data }) => data)).toEqual(["b", "b"]);
  expect((await client.kept({ id: "b", limit: 2 })).cursor).toBeUndefined();
  for (const wrong of [{ limit: 0 }, { limit: 1_001 }, { cursor: "x" }, { id: "" }]) {
    await expect(client.kept(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});

test("an event whose data cannot be decoded is listed without its data", async () => {
  const { provider, client } = await virtualStore();
  const codec: Codec = {
    ...defaultCodec,
    decode: (text) => {
      if (text.includes("secret")) throw new Error("the key is missing");
      return defaultCodec.decode(text);
    },
  };
  for (const data of ["secret", "open"]) await client.raise("a", "go", data, KEEP);
  const { items } = await new Client(provider, { codec }).kept();
  expect(items).toMatchObject([{ unreadable: "the key is missing" }, { data: "open" }]);
  expect(items[0]).not.toHaveProperty("data");
});
