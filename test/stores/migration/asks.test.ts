// Answers and waiting askers move with their store. A damaged answer stops the move.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { moveStore, unmarkStore, type CommitItem, type Provider } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import {
  askItem,
  eventText,
  registration,
  startItem,
  terminateItem,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { dropSchema, freshSchema } from "../../support/postgres.ts";
import { closePool, openOnPool } from "../../support/postgres-stores.ts";

afterAll(closePool);

const ANSWER = '{"output":"42"}';
const ASKER = { id: "asker", runId: "asker-run", execution: 1, sequence: 2 };
const [OWNER, TOKEN] = ["runtime-a", 7];
const ASKS = ["answered", "open", "withdrawn"];

async function inSqlite(): Promise<{ readonly provider: Provider; readonly file: string }> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-asks-"));
  const file = join(folder, "store.db");
  const provider = await SqliteProvider.open(file);
  onTestFinished(async () => {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { provider, file };
}

async function inPostgres(): Promise<Provider> {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  const provider = await openOnPool(schema, { notifications: false });
  onTestFinished(() => provider.close());
  return provider;
}

/** An instance "a" with one answered ask and one open ask of the instance "asker". */
async function fill(provider: Provider): Promise<void> {
  const write = async (item: CommitItem): Promise<void> => {
    expect(await provider.commit([item])).not.toMatchObject([{ kind: "refused" }]);
  };
  await provider.registerRuntime(registration({ id: OWNER }));
  await write(startItem({ id: "asker", runId: ASKER.runId }));
  await write(startItem({ id: "a", runId: "a", lease: { owner: OWNER, token: TOKEN } }));
  for (const requestId of ["answered", "open"]) {
    await write(askItem({ id: "a", requestId, asker: ASKER }));
  }
  const { key = 0 } = (await provider.readInstance("a")) ?? {};
  const held = { id: "a", runId: "a", key, execution: 1, token: TOKEN, lastEvent: 0 };
  const answers = [{ requestId: "answered", answer: ANSWER }];
  await write(turnItem(held, { events: [eventText()], version: "1.0.0", answers, release: true }));
  await provider.removeRuntime(OWNER);
}

test(
  "answers and askers move from SQLite to PostgreSQL and back",
  { timeout: 60_000 },
  async () => {
    const [{ provider: source }, middle, { provider: last }] = [
      await inSqlite(),
      await inPostgres(),
      await inSqlite(),
    ];
    await fill(source);
    await moveStore(source, middle);
    const asks = await middle.readAsks("a", ASKS);
    expect(asks?.asks.toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1))).toEqual([
      { requestId: "answered", state: "answered", answer: ANSWER },
      { requestId: "open", state: "open", answer: null },
    ]);
    await moveStore(middle, last);
    expect(await last.commit([askItem({ id: "a", requestId: "answered" })])).toMatchObject([
      { kind: "asked", answer: ANSWER },
    ]);
    await last.commit([terminateItem("a")]);
    const { key = 0 } = (await last.readInstance("asker")) ?? {};
    const messages = await last.readInbox(key);
    expect(messages.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ["start", null],
      ["answer", ASKER.sequence],
    ]);
    await unmarkStore(source);
    await unmarkStore(middle);
  },
);

test("a store with a damaged answer does not move", async () => {
  const { provider: source, file } = await inSqlite();
  const { provider: target } = await inSqlite();
  await fill(source);
  {
    using database = new DatabaseSync(file);
    database.exec(`UPDATE requests SET answer = '{"output":"43"}' WHERE id = 'answered'`);
  }
  await expect(moveStore(source, target)).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
});
