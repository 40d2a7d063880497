// A process that runs limited jobs until it is killed. Its arguments (fleet.ts): the store's address, the log, the options
// of the runtime, the folder of the visits.

import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { Perdure, type RuntimeOptions } from "../../../src/index.ts";
import { loadProvider } from "../kill/store-address.ts";
import { limitedJobs } from "./visits.ts";

const [address = "", , options = "{}", folder = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit());
const open = await loadProvider(address);
flushCompileCache(); // normally written at exit, but this process is killed
await once(process, "message");
const runtime = JSON.parse(options) as RuntimeOptions; // from fleet.ts
const register = [...limitedJobs(folder, () => process.send?.("begin"))];
await Perdure.open(await open(), { register, runtime: { ...runtime, log: () => undefined } });
process.send?.("ready");
