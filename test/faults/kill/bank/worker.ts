// A bank worker: runs transfers until it is killed.
//   It uses its first argument (fleet.ts), the store's address, and its fourth, the ledger's address.

import { once } from "node:events";
import * as modules from "node:module";
import { Perdure } from "../../../../src/index.ts";
import { loadProvider } from "../store-address.ts";
import { openLedger } from "./ledger.ts";
import { defineBank } from "./transfers.ts";

const [address = "", , , ledgerAddress = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit());

const open = await loadProvider(address);
if ("flushCompileCache" in modules) modules.flushCompileCache();
await once(process, "message");
const ledger = await openLedger(ledgerAddress);
const { register } = defineBank(ledger, () => process.send?.("begin"));
await Perdure.open(await open(), { register, runtime: { log: () => undefined } });
process.send?.("ready");
