// New receivers: an event for an instance that is inserted after the transaction looked for its receivers
// (postgres.instances.2).

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { CommitItem } from "../../../../src/index.ts";
import {
  ALPHA,
  askItem,
  eventText,
  fresh,
  sendItem,
  startItem,
  turnItem,
  type Held,
} from "../../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../../support/postgres.ts";
import { openStoreFor, ownSchema, until } from "../support.ts";

/** A commit that waits for longer than its lock timeout begins again, and finds the receiver. Most rounds are faster. */
const ROUNDS = 5;

/** A connection outside Perdure. */
async function connect(schema: string): Promise<pg.Client> {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path TO ${schema}`);
  return client;
}

const WAITING = `
  SELECT count(*)::integer AS count FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1::text || '%'`;

const KINDS: readonly (readonly [string, (to: string, sender: Held) => CommitItem])[] = [
  ["a send", (id) => sendItem({ id })],
  ["an ask", (id) => askItem({ id })],
  [
    "a send of a turn",
    (id, sender) =>
      turnItem(sender, {
        events: [eventText()],
        dispatched: [{ sequence: 3, item: sendItem({ id }), hasOwnId: true }],
      }),
  ],
];

test.each(KINDS)(
  "%s waits for the turn of a receiver that was inserted meanwhile",
  async (_, of) => {
    const schema = ownSchema();
    const store = await openStoreFor([ALPHA], { schema });
    const [holder, other, watcher] = await Promise.all([1, 2, 3].map(() => connect(schema)));
    if (holder === undefined || other === undefined || watcher === undefined)
      throw new Error("none");
    const begun = async (id: string): Promise<Held> => {
      const item = startItem({ id, lease: { owner: ALPHA, token: fresh() } });
      const [result] = await store.commit([item]);
      if (result?.kind !== "started" || result.leased === null) throw new Error("not started");
      const { runId, lease } = item;
      const held = { id, runId, key: result.key, execution: 1, token: lease?.token ?? 0 };
      const first = { ...held, lastEvent: 0 };
      await store.commit([
        turnItem(first, { events: [eventText()], consumed: [result.leased.id] }),
      ]);
      return { ...held, lastEvent: 1 };
    };
    let sender = await begun("sender");
    for (let round = 0; round < ROUNDS; round++) {
      const [blocked, early, late] = [`blocked-${round}`, `early-${round}`, `late-${round}`];
      const receiver = await begun(early);
      const first = sendItem({ id: early });
      await store.commit([startItem({ id: blocked }), first]);
      await holder.query("BEGIN");
      await holder.query("SELECT 1 FROM instances WHERE id = $1 FOR UPDATE", [blocked]);
      const item = of(late, sender);
      const results = store.commit([sendItem({ id: blocked }), item]);
      const isWaiting = async (): Promise<boolean> => {
        const { rows } = await watcher.query<{ count: number }>(WAITING, [schema]);
        return (rows[0]?.count ?? 0) > 0;
      };
      await until("the commit waits for the lock", isWaiting);
      // The receiver appears, and a turn of it has consumed its event and not committed yet.
      await other.query(`
      BEGIN; UPDATE instances SET id = '${late}' WHERE id = '${early}'; COMMIT;
      BEGIN; SELECT 1 FROM instances WHERE id = '${late}' FOR NO KEY UPDATE;
      DELETE FROM inbox WHERE instance = ${receiver.key} AND key = '${first.requestId}'`);
      await holder.query("COMMIT");
      let isDone = false;
      void results.then(() => (isDone = true));
      await until("the event waits or is written", async () => isDone || (await isWaiting()));
      await other.query("COMMIT");
      let [, result] = await results;
      while (result?.kind === "busy") [result] = await store.commit([item]);
      expect(result?.kind).toMatch(/^(done|asked|committed)$/);
      const { rows } = await watcher.query<{ parked: boolean }>(
        "SELECT parked FROM inbox WHERE instance = $1",
        [receiver.key],
      );
      expect(rows).toEqual([{ parked: false }]);
      sender = { ...sender, lastEvent: sender.lastEvent + (item.kind === "turn" ? 1 : 0) };
    }
  },
);
