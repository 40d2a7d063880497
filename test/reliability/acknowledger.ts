// A process that starts instances one after the other and writes a line to stdout when each has been acknowledged.
//   Arguments: the store's file, how many, the durability.

import { writeSync } from "node:fs";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";

const [path = "", calls = "0", durability] = process.argv.slice(2);
const provider = await SqliteProvider.open(path, {
  durability: durability === "normal" ? "normal" : "full",
});
const client = new Client(provider);
for (let call = 0; call < Number(calls); call++) {
  await client.start("nobody's", call, { id: `i-${call}` });
  writeSync(1, `told ${call}\n`);
}
await provider.close();
