// A worker process: `worker.ts <store address> <log> <runtime options as JSON>`. It says "ready" when it takes work, and
// before that "visible" or "hidden": whether it sees the first process of the machine in /proc.

import { existsSync } from "node:fs";
import { Perdure, type RuntimeOptions } from "../../src/index.ts";
import { openAddress } from "../../test/faults/kill/store-address.ts";
import { defineWork } from "./work.ts";

const [address = "", log = "", options = "{}"] = process.argv.slice(2);
process.once("disconnect", () => process.exit()); // the programme has ended
process.send?.(existsSync("/proc/1/stat") ? "visible" : "hidden");
await Perdure.open(await openAddress(address), {
  register: defineWork(log).register,
  runtime: { ...(JSON.parse(options) as RuntimeOptions), log: () => undefined }, // written by a programme
});
process.send?.("ready");
