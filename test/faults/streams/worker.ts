// A process that tells tales until it is killed. Its first argument (fleet.ts) is the store's address.

import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { Perdure, type RuntimeOptions } from "../../../src/index.ts";
import { loadProvider } from "../kill/store-address.ts";
import { defineTales } from "./tales.ts";

const [address = "", , options = "{}"] = process.argv.slice(2);
process.on("disconnect", () => process.exit());
const open = await loadProvider(address);
flushCompileCache(); // normally written at exit, but this process is killed
await once(process, "message");
const runtime = JSON.parse(options) as RuntimeOptions; // from fleet.ts
const { register } = defineTales(() => process.send?.("begin"));
await Perdure.open(await open(), { register, runtime: { ...runtime, log: () => undefined } });
process.send?.("ready");
