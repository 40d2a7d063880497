// A worker of the bank: makes transfers until it is killed.
//   Of its arguments (fleet.ts) it uses the first, the store's address, and the fourth, the ledger's.

import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { Perdure } from "../../../src/index.ts";
import { loadProvider } from "../store-address.ts";
import { openLedger } from "./ledger.ts";
import { defineBank } from "./transfers.ts";

const [address = "", , , ledgerAddress = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit());

const open = await loadProvider(address);
flushCompileCache();
await once(process, "message");
const ledger = await openLedger(ledgerAddress);
const { register } = defineBank(ledger, () => process.send?.("begin"));
await Perdure.open(await open(), { register, runtime: { log: () => undefined } });
process.send?.("ready");
