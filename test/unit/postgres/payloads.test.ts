// Payloads: large values are compressed with lz4 where the server has it, and are read back as they were written.

import { expect, test } from "vitest";
import { defaultCodec } from "../../../src/core/values/codec.ts";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStore, ownSchema } from "../../stores/postgres/support.ts";

/** Every column that holds a payload of the user. */
const PAYLOADS = [
  "arrivals.data",
  "history.data",
  "inbox.data",
  "instances.custom_status",
  "instances.error",
  "instances.output",
  "kept.data",
  "kv.value",
  "tasks.heartbeat",
  "tasks.input",
  "tasks.progress",
];

test("columns with payloads use lz4, unless the server is built without it", async () => {
  const schema = ownSchema();
  await openStore({ schema });
  const { query } = await postgres();
  const [built] = await query(
    "SELECT 'lz4' = ANY (enumvals) AS lz4 FROM pg_settings WHERE name = 'default_toast_compression'",
  );
  const rows = await query(
    `SELECT c.relname || '.' || a.attname AS payload
     FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
     WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND a.attcompression = 'l'
     ORDER BY 1`,
    [schema],
  );
  expect(rows.map(({ payload }) => payload)).toEqual(built?.["lz4"] === true ? PAYLOADS : []);
});

test.each([
  ["of two characters", "ab"],
  ["of 3 kB that compresses well", "abc".repeat(1_000)],
  ["of 200 kB with characters of one to four bytes", "aé€😀".repeat(20_000)],
  ["with quotes, backslashes and braces", '{"a":"\\\\\\"{},NULL"}'.repeat(500)],
])("a text %s is read back as it was written", async (_, text) => {
  const store = await openStore();
  const data = defaultCodec.encode(text);
  const [started] = await store.commit([startItem({ id: "a" })]);
  if (started?.kind !== "started") throw new Error("the instance must start");
  await store.commit([sendItem({ id: "a", data }), sendItem({ id: "a", data: '"last"' })]);
  const { key } = started;
  const messages = (await store.takeMessages([key], 10)).get(key) ?? [];
  expect(messages.slice(1).map((message) => message.data)).toEqual([data, '"last"']);
});
