// With an encrypting codec a row of history is bound to one instance, one execution and one sequence in it
// (docs/decisions/0028). The attacker of these tests can write to the store and compute checksums, but has no key.

import { createCipheriv, randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  defaultCodec,
  moveStore,
  orchestration,
  type Codec,
  type Provider,
} from "../../../src/index.ts";
import { checkReplay } from "../../../src/runtime/replay/check-replay.ts";
import { recordHistory } from "../../../src/runtime/replay/recorded-history.ts";
import { openAddress } from "../../faults/kill/store-address.ts";
import {
  STORE_KINDS,
  storeUnderTest,
  type StoreKind,
  type StoreUnderTest,
} from "../../faults/kill/stores.ts";
import { startRuntime, temporaryFolder, until } from "../../faults/trouble/support.ts";
import { both, first, KEYS, second } from "./support.ts";
import { remove, rowsOf, swap, withoutSeal, write, type StoredRow } from "./tampering.ts";

const double = activity("double", (n: number) => n * 2);
const waits = orchestration("waits", async (ctx, n: number) => {
  const once = await ctx.run(double, n);
  const twice = await ctx.run(double, once);
  return [n, twice, await ctx.waitFor<string>("go")];
});
const continues = orchestration("continues", async (ctx, n: number): Promise<unknown> => {
  await ctx.run(double, n);
  if (n === 1) return ctx.continueAsNew(2);
  return [n, await ctx.waitFor<string>("go")];
});
const register = [waits, continues, double];
type Rows = readonly StoredRow[];

/** The change that the attacker makes to instance `a`, given the rows of `a` and `b`, and the message of the block. */
const ATTACKS: Readonly<
  Record<string, readonly [(store: StoreUnderTest, a: Rows, b: Rows) => Promise<void>, RegExp]>
> = {
  "a row of another instance": [
    (store, a, b) => swap(store, a[1]!, b[1]!),
    /its seal does not match/,
  ],
  "all rows of another instance": [
    async (store, a, b) => {
      for (const [n, row] of a.entries()) await write(store, row, b[n]!.data);
    },
    /its seal does not match/,
  ],
  "all rows of another instance, without seals": [
    async (store, a, b) => {
      for (const [n, row] of a.entries()) await write(store, row, withoutSeal(b[n]!.data));
    },
    /has no seal/,
  ],
  "two rows swapped": [(store, a) => swap(store, a[1]!, a[2]!), /its seal does not match/],
  "a value of another row": [
    async (store, a, b) => {
      const value = /enc2\.[\w.-]+/;
      const other = value.exec(b[1]!.data)?.[0] ?? "";
      await write(store, a[1]!, a[1]!.data.replace(value, other));
    },
    /its seal does not match/,
  ],
  "a row without its seal": [
    (store, a) => write(store, a[2]!, withoutSeal(a[2]!.data)),
    /has no seal/,
  ],
  "a row with the seal of another": [
    async (store, a, b) => {
      const seal = b[2]!.data.slice(withoutSeal(b[2]!.data).length - 1);
      await write(store, a[2]!, withoutSeal(a[2]!.data).slice(0, -1) + seal);
    },
    /its seal does not match/,
  ],
  "the last row removed": [(store, a) => remove(store, a.at(-1)!), /history must end at event/],
};

test.each(STORE_KINDS)(
  "on %s a changed, moved or removed row blocks its instance, and all other instances complete",
  { timeout: 120_000 },
  async (kind) => {
    const store = await newStore(kind);
    const names = Object.keys(ATTACKS);
    const ids = [...names.flatMap((name) => [`a ${name}`, `b ${name}`]), "sound"];
    await allWaiting(store, ids, waits);
    for (const [name, [attack]] of Object.entries(ATTACKS)) {
      await attack(store, await rowsOf(store, `a ${name}`), await rowsOf(store, `b ${name}`));
    }
    const { provider, client } = await opened(store);
    for (const id of ids) await client.get(id).raise("go", "went");
    await startRuntime(provider, register, { codec: first, stickyCacheMax: 0 });
    const expected = [ids.length - 1, (ids.length - 1) * 4, "went"];
    expect(await client.get("sound").result({ timeout: "60s" })).toEqual(expected);
    for (const [name, [, message]] of Object.entries(ATTACKS)) {
      const handle = client.get(`a ${name}`);
      await until(
        `"${name}" is detected`,
        async () => (await handle.describe()).blocked !== undefined,
      );
      const { blocked, unreadable } = await handle.describe();
      expect([name, blocked]).toEqual([
        name,
        expect.objectContaining({
          code: "HISTORY_CORRUPT",
          message: expect.stringMatching(message) as string,
        }),
      ]);
      const corrupt = { code: "HISTORY_CORRUPT" };
      await expect(handle.history()).rejects.toMatchObject(corrupt);
      if (name === "the last row removed") continue; // the remaining rows are valid
      expect(unreadable).toMatch(message);
      const forking = client.fork(`a ${name}`, { beforeSequence: 5 });
      await expect(forking).rejects.toMatchObject(corrupt);
    }
  },
);

test.each(STORE_KINDS)(
  "on %s a row of an earlier execution is refused in a later one",
  { timeout: 120_000 },
  async (kind) => {
    const store = await newStore(kind);
    await allWaiting(store, ["c"], continues);
    const rows = await rowsOf(store, "c");
    const [past, now] = [1, 2].map((number) =>
      rows.filter(({ execution }) => execution === number),
    );
    await write(store, now![0]!, past![0]!.data);
    const { provider, client } = await opened(store);
    await client.get("c").raise("go", "went");
    await startRuntime(provider, register, { codec: first, stickyCacheMax: 0 });
    const isBlocked = async (): Promise<boolean> =>
      (await client.get("c").describe()).blocked !== undefined;
    await until("the instance is blocked", isBlocked);
    expect((await client.get("c").describe()).blocked).toMatchObject({
      code: "HISTORY_CORRUPT",
      message: expect.stringContaining("its seal does not match") as string,
    });
    expect(await client.get("c").history({ execution: 1 })).toHaveLength(past!.at(-1)!.last);
  },
);

test.each(STORE_KINDS)(
  "on %s histories stay readable after forks, restarts, terminations, key rotation and a move",
  { timeout: 120_000 },
  async (kind) => {
    const store = await newStore(kind);
    await allWaiting(store, ["w", "ended"], waits);
    const { provider, client } = await opened(store);
    await client.get("ended").terminate("enough");
    await client.start(waits, 9, { id: "not begun" });
    await client.get("not begun").terminate("not needed");
    const worker = await startRuntime(provider, register, { codec: first }); // replays the copied past
    await client.fork("w", { id: "forked", beforeSequence: 5 });
    await client.fork("ended", { id: "forked from an end", beforeSequence: 5 });
    await worker.shutdown();
    for (const id of ["w", "ended", "not begun", "forked"]) {
      expect((await client.get(id).history())[0]).toMatchObject({ kind: "OrchestrationStarted" });
      if (id === "not begun") continue; // the code never ran
      const recorded = await recordHistory(provider, id);
      expect(await checkReplay(recorded, waits, { codec: first })).toMatchObject({ kind: "ok" });
    }
    await client.get("ended").restart();
    await client.get("not begun").restart();

    const other = await newStore(kind === "sqlite" ? "postgres" : "sqlite");
    const target = (await opened(other)).provider;
    await moveStore(provider, target);
    const moved = new Client(target, { codec: both });
    await startRuntime(target, register, { codec: both, stickyCacheMax: 0 });
    for (const [id, n] of [
      ["w", 0],
      ["ended", 1],
      ["not begun", 9],
      ["forked", 0],
      ["forked from an end", 1],
    ] as const) {
      await moved.get(id).raise("go", "moved");
      expect([id, await moved.get(id).result({ timeout: "60s" })]).toEqual([
        id,
        [n, n * 4, "moved"],
      ]);
      expect((await moved.get(id).history()).at(-1)).toMatchObject({
        kind: "OrchestrationCompleted",
      });
    }
    const seals = (await rowsOf(other, "w")).map(({ data }) => /"mac1\.(k\d)\./.exec(data)?.[1]);
    expect([seals[0], seals.at(-1)]).toEqual(["k1", "k2"]);
    // A client without the key can read the events, but cannot fork or restart the instance.
    const keyless = new Client(target, { codec: second });
    expect(await keyless.get("w").history()).not.toEqual([]);
    await expect(keyless.fork("w", { beforeSequence: 3 })).rejects.toMatchObject({
      code: "KEY_MISSING",
    });
    await expect(keyless.get("w").restart()).rejects.toMatchObject({ code: "KEY_MISSING" });
  },
);

test.each(STORE_KINDS)(
  "on %s a history without seals continues, and its new rows are sealed",
  { timeout: 120_000 },
  async (kind) => {
    const store = await newStore(kind);
    await allWaiting(store, ["kept", "stripped"], waits, beforeSeals);
    const { provider, client } = await opened(store);
    const unsealed = await rowsOf(store, "kept");
    expect(unsealed.filter(({ data }) => data.includes('"s":'))).toEqual([]);
    expect(unsealed[0]?.data).toContain("enc1.k1.");
    const runtime = await startRuntime(provider, register, { codec: first, stickyCacheMax: 0 });
    for (const id of ["kept", "stripped"]) await client.get(id).raise("other", "makes a row");
    for (const id of ["kept", "stripped"]) {
      await until(`${id} has another row`, async () => {
        const kinds = (await client.get(id).history()).map((event) => event.kind);
        return kinds.includes("EventReceived");
      });
    }
    await runtime.shutdown();
    const last = (await rowsOf(store, "stripped")).at(-1)!;
    expect(last.data).toMatch(/,"s":"mac1\.k1\.[\w-]{43}"\}$/);
    // The instance needs one more sealed row.
    await client.get("kept").raise("go", "went");
    await startRuntime(provider, register, { codec: first, stickyCacheMax: 0 });
    expect(await client.get("kept").result({ timeout: "60s" })).toEqual([0, 0, "went"]);
    const ended = (await rowsOf(store, "kept")).filter(({ data }) => data.includes('"s":'));
    await write(store, ended[1]!, withoutSeal(ended[1]!.data));
    await expect(client.get("kept").history()).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
  },
);

/** The encrypting codec as it was before the introduction of seals. */
const beforeSeals: Codec = {
  encode(value) {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", KEYS.k1, nonce);
    cipher.setAAD(Buffer.from("perdure.enc1.k1"));
    const text = Buffer.concat([cipher.update(defaultCodec.encode(value), "utf8"), cipher.final()]);
    const body = Buffer.concat([nonce, text, cipher.getAuthTag()]);
    return `enc1.k1.${body.toString("base64url")}`;
  },
  decode: (text) => first.decode(text),
  sealsFailures: true,
};

async function newStore(kind: StoreKind): Promise<StoreUnderTest> {
  const store = await storeUnderTest(kind, temporaryFolder());
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function opened(
  store: StoreUnderTest,
  codec = first,
): Promise<{ readonly provider: Provider; readonly client: Client }> {
  const provider = await openAddress(store.address);
  onTestFinished(() => provider.close());
  return { provider, client: new Client(provider, { codec }) };
}

/** Starts instances, each with its number as input, waits until all wait for an event, and stops the runtime. */
async function allWaiting(
  store: StoreUnderTest,
  ids: readonly string[],
  program: typeof waits | typeof continues,
  codec = first,
): Promise<void> {
  const { provider, client } = await opened(store, codec);
  const runtime = await startRuntime(provider, register, { codec, stickyCacheMax: 0 });
  for (const [n, id] of ids.entries()) {
    await client.start(program.name, program === continues ? 1 : n, { id });
  }
  for (const id of ids) {
    await until(`${id} waits`, async () => {
      const { waitingFor } = await client.get(id).describe();
      return waitingFor.some((wait) => wait.kind === "event");
    });
  }
  await runtime.shutdown();
}
