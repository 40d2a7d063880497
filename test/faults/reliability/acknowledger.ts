// A process that starts instances one after the other and writes a line to stdout after each acknowledgement.
//   Arguments: the store's file, the number of instances, the durability.

import { writeSync } from "node:fs";
import { Client } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const [path = "", calls = "0", durability] = process.argv.slice(2);
const provider = await SqliteProvider.open(path, {
  durability: durability === "normal" ? "normal" : "full",
});
const client = new Client(provider);
for (let call = 0; call < Number(calls); call++) {
  await client.start("unregistered", call, { id: `i-${call}` });
  writeSync(1, `acknowledged ${call}\n`);
}
await provider.close();
