// A worker process under test: takes work until it is killed, and starts jobs of its own.
//   Arguments: the store's address, the run log, the runtime's options as JSON, how many jobs it starts itself
//   ("endless": one after the other, until its parent says that it is enough), and a number that no other worker has.
//   It loads everything, waits for its parent's "go", or "idle" if it must start no jobs, says "ready" once it takes work, and does not outlive its parent.

import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { Perdure, type RuntimeOptions } from "../../src/index.ts";
import { jobOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";
import { RunLog } from "./run-log.ts";
import { loadProvider } from "./store-address.ts";

const [address = "", logPath = "", options = "{}", ownJobs = "0", number = "0"] =
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
const open = await loadProvider(address);
flushCompileCache(); // written at exit, which it will not see
const [how] = await once(process, "message");

const { client } = await Perdure.open(await open(), { register, runtime });
process.send?.("ready");

// Started here, an instance is born in the hands of this very process, which may die at any moment.
const isEndless = ownJobs === "endless";
const ownCount = how === "idle" ? 0 : Number(ownJobs);
let isEnough = false;
process.on("message", () => void (isEnough = true));
for (let count = 0; isEndless ? !isEnough : count < ownCount; count++) {
  const job = Number(number) * 1_000_000 + count;
  const instance = `own-${job}`;
  const handle = await client.start(byKind.linear, jobOf(job), { id: instance });
  log.append({ what: "ack", instance, job });
  if (isEndless) await handle.result();
}
