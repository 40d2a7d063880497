// A worker process under test: takes work until it is killed, and starts a few jobs of its own.
//   Arguments: the store's file, the run log, the runtime's options as JSON, how many jobs it starts itself,
//   and a number that no other worker has.
//   It says "ready" to its parent once it takes work, and does not outlive it.

import { flushCompileCache } from "node:module";
import { Perdure, type RuntimeOptions } from "../../src/index.ts";
import { jobOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";
import { RunLog } from "./run-log.ts";

const [store = "", logPath = "", options = "{}", ownJobs = "0", number = "0"] =
  process.argv.slice(2);
process.on("disconnect", () => process.exit());

const log = new RunLog(logPath);
const { byKind, register } = defineAll(log);
const runtime: RuntimeOptions = {
  ...(JSON.parse(options) as RuntimeOptions), // from fleet.ts
  log: (level, message, fields) => {
    if (level !== "warn" && level !== "error") return;
    log.append({ what: "engine", level, message, fields });
  },
};
const { client } = await Perdure.open(`sqlite:${store}`, { register, runtime });
process.send?.("ready");
flushCompileCache(); // written at exit, which it will not see

// Started here, an instance is born in the hands of this very process, which may die at any moment.
for (let count = 0; count < Number(ownJobs); count++) {
  const job = Number(number) * 100 + count;
  const instance = `own-${job}`;
  await client.start(byKind.linear, jobOf(job), { id: instance });
  log.append({ what: "ack", instance, job });
}
