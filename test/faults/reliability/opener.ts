// A process that opens a store, writes to it and exits. It waits for a message from its parent, so that many begin at
// once.
//   Argument: the store's address (../kill/store-address.ts).

import { once } from "node:events";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { loadProvider } from "../kill/store-address.ts";

const open = await loadProvider(process.argv[2] ?? "");
process.send?.("loaded");
await once(process, "message");
const provider = await open();
await provider.commit([startItem({ id: `by-${process.pid}` })]);
await provider.close();
process.exit();
