// A worker process under test: takes work until it is killed, and starts its own jobs.
//   Arguments: the store's address, the run log, the runtime's options as JSON, the number of jobs it starts itself
//   ("endless": one after the other, until the parent sends a message), and a number unique to the worker. A worker
//   starts none while OPEN_MAX of them are open: every process that is killed has a successor, and the load must not
//   grow with the kills.
//   It loads its modules and waits for "go", or for "idle" if it must start no jobs. It sends "ready" once it takes
//   work, and exits when its parent does.

import { once } from "node:events";
import * as modules from "node:module";
import { Perdure, type RuntimeOptions } from "../../../src/index.ts";
import { jobOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";
import { RunLog } from "./audit/run-log.ts";
import { loadProvider } from "./store-address.ts";

const OPEN_MAX = 12;
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
if ("flushCompileCache" in modules) modules.flushCompileCache(); // normally written at exit, but this process is killed
const [how] = await once(process, "message");

const { client } = await Perdure.open(await open(), { register, runtime });
process.send?.("ready");

// An instance started here is leased by this worker from the start, and the worker may die at any moment.
const isEndless = ownJobs === "endless";
const ownCount = how === "idle" ? 0 : Number(ownJobs);
let isEnough = false;
process.on("message", () => void (isEnough = true));
for (let count = 0; isEndless ? !isEnough : count < ownCount; count++) {
  const job = Number(number) * 1_000_000 + count;
  const instance = `own-${job}`;
  const isOpen = { name: byKind.linear.name, status: ["pending", "running"] } as const;
  if (!isEndless && (await client.count(isOpen)) >= OPEN_MAX) break;
  const handle = await client.start(byKind.linear, jobOf(job), { id: instance });
  log.append({ what: "ack", instance, job });
  if (isEndless) await handle.result();
}
